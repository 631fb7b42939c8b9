// Content wider than its box fades at the sides where it continues.
export function connectScrolling(box) {
  const mark = () => {
    const beyond = box.scrollWidth - box.clientWidth;
    const left = getComputedStyle(box).direction === "rtl" ? beyond + box.scrollLeft : box.scrollLeft;
    box.classList.toggle("more-left", left > 1);
    box.classList.toggle("more-right", left < beyond - 1);
  };
  const watcher = new ResizeObserver(mark);
  const watch = () => {
    watcher.disconnect();
    for (const each of [box, ...box.children]) watcher.observe(each);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new MutationObserver(watch).observe(box, { childList: true });
  watch();
}
