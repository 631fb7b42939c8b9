// Codes of languages, as links and other programs spell them.
const OUTWARD = { zh: "zh-hans", zt: "zh-hant", pb: "pt-br" }; // LibreTranslate's own codes, and what they stand for

// As codes are compared: `zh`, `zh_hans` and `zh-Hans` are one.
function plain(code) {
  const lower = code.toLowerCase().replaceAll("_", "-");
  return OUTWARD[lower] ?? lower;
}

// The code among those of the server that means the same; as it is when there is none.
export function meant(code, codes) {
  return codes.find((each) => plain(each) === plain(code)) ?? code;
}
