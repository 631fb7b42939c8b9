// Selected heads: a set of "layer/head", or null for all.
const keyOf = (layer, head) => `${layer}/${head}`;

export function isOn(heads, layer, head) {
  return heads === null || heads.includes(keyOf(layer, head));
}

// Select or deselect one head; deselecting the last one selects all.
export function toggled(heads, maps, layer, head) {
  const key = keyOf(layer, head);
  const now = heads ?? everyHead(maps);
  return settled(now.includes(key) ? now.filter((each) => each !== key) : [...now, key], maps);
}

// This head alone; all heads if it was alone already.
export function solo(heads, maps, layer, head) {
  const key = keyOf(layer, head);
  return heads?.length === 1 && heads[0] === key ? null : settled([key], maps);
}

// The heads of a layer and a head number, either of which may be "all".
export function within(maps, layer, head) {
  const meant = everyHead(maps).filter((key) => {
    const [l, h] = key.split("/").map(Number);
    return (layer === "all" || l === layer) && (head === "all" || h === head);
  });
  return settled(meant, maps);
}

// Value of two selectors for a set: a number, "all", or "some" for more than two words.
export function told(heads, maps) {
  const now = (heads ?? everyHead(maps)).map((key) => key.split("/").map(Number));
  const layers = new Set(now.map(([layer]) => layer)), numbers = new Set(now.map(([, head]) => head));
  if (now.length !== layers.size * numbers.size) return { layer: "some", head: "some" };
  const most = Math.max(0, ...maps.map((map) => map.weights.length));
  return { layer: one(layers, maps.length), head: one(numbers, most) };
}

function one(numbers, count) {
  if (numbers.size === count) return "all";
  return numbers.size === 1 ? [...numbers][0] : "some";
}

function settled(heads, maps) {
  const every = everyHead(maps);
  return heads.length === 0 || heads.length === every.length ? null : every.filter((key) => heads.includes(key));
}

function everyHead(maps) {
  return maps.flatMap((map, layer) => map.weights.map((_, head) => keyOf(layer, head)));
}
