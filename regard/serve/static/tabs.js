// Tabs of the page: texts, files, other models. One tab is open; a single one has no bar.
const byId = (id) => document.getElementById(id);

export class Tabs {
  // `names` are those of the elements tab-NAME and panel-NAME; `switched` is called with the opened one.
  constructor(names, switched) {
    Object.assign(this, { names, switched, offered: names.slice(0, 1), now: names[0] });
    for (const name of names) byId(`tab-${name}`).addEventListener("click", () => this.open(name));
    byId("tabs").addEventListener("keydown", (event) => this.walk(event));
    this.draw();
  }

  // Tabs that the server offers.
  offer(names) {
    this.offered = names.length ? names : this.names.slice(0, 1);
    if (!this.offered.includes(this.now)) this.open(this.offered[0]);
    this.draw();
  }

  open(name, { focus = false } = {}) {
    if (name !== this.now) {
      this.now = name;
      this.draw();
      this.switched(name);
    }
    if (focus) byId(`tab-${name}`).focus();
  }

  walk(event) {
    const at = this.offered.indexOf(this.now), last = this.offered.length - 1;
    const to = { ArrowLeft: at ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.open(this.offered[to], { focus: true });
  }

  draw() {
    const several = this.offered.length > 1;
    byId("tabs").hidden = !several;
    for (const name of this.names) {
      const [tab, panel] = [byId(`tab-${name}`), byId(`panel-${name}`)];
      tab.hidden = !this.offered.includes(name);
      tab.setAttribute("aria-selected", String(name === this.now));
      tab.tabIndex = name === this.now ? 0 : -1;
      panel.hidden = name !== this.now;
      if (several) {
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", tab.id);
      }
    }
  }
}
