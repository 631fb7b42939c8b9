// Language codes in the spellings of links and other programs.
const OUTWARD = { zh: "zh-hans", zt: "zh-hant", pb: "pt-br" }; // LibreTranslate's own codes

// Normal form of a code: `zh`, `zh_hans` and `zh-Hans` are one.
function plain(code) {
  const lower = code.toLowerCase().replaceAll("_", "-");
  return OUTWARD[lower] ?? lower;
}

// The server's code for the same language; unchanged if there is none.
export function meant(code, codes) {
  return codes.find((each) => plain(each) === plain(code)) ?? code;
}
