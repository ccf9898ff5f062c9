// This script is read first, as keys count from then on; the rest waits for the page.
const whenRead = (work) => document.addEventListener("DOMContentLoaded", work);

// The field to type in has the focus as soon as the page is read; the browser gives it only with the first picture.
whenRead(() => { if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus(); });

// Single keys press buttons: A presses data-key="a", unless somebody is typing or has switched the keys off.
// A key that is pressed while the page or the next pair is on its way counts once that is shown.
(() => {
  let waiting = "";
  const press = (key) => {
    const button = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    waiting = document.readyState === "loading" || document.querySelector(".htmx-request") ? key : "";
    if (!waiting) button?.click();
    return button;
  };
  const isTextField = (element) => element.closest("input:not([type=checkbox]), textarea, select");
  const keysEnabled = () => localStorage.getItem("keys") !== "off";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.key.length > 1 || isTextField(event.target) || !keysEnabled()) return;
    if (press(event.key.toLowerCase())) event.preventDefault();
  });
  const show = (root) => root.querySelectorAll("[data-keys]").forEach((box) => { box.checked = keysEnabled(); });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-keys]")) localStorage.setItem("keys", event.target.checked ? "on" : "off");
  });
  const arrive = (root) => {
    show(root);
    if (waiting) setTimeout(press, 0, waiting); // once htmx knows all that it has loaded
    waiting = "";
  };
  document.addEventListener("htmx:load", (event) => arrive(event.target));
  whenRead(() => arrive(document));
})();

// The first hit of a view of the page that is opened or accepted is counted; who it was is neither asked nor stored.
(() => {
  let isCounted = performance.getEntriesByType("navigation")[0]?.type === "back_forward"; // the view before has counted
  const mark = (root) => isCounted && root.querySelectorAll("[name=opened]").forEach((input) => { input.value = "1"; });
  document.addEventListener("click", (event) => {
    const form = event.target.closest("[data-opened]");
    const link = form && event.target.closest("h3 a, .full summary");
    if (!link && !event.target.closest("[name=accept], [name=same]")) return;
    if (link && !isCounted) {
      const headers = JSON.parse(document.body.getAttribute("hx-headers"));
      fetch(form.dataset.opened, { method: "POST", keepalive: true, headers });
    }
    isCounted = true;
    mark(document);
  });
  document.addEventListener("htmx:load", (event) => mark(event.target));
  whenRead(() => mark(document));
})();

// What was found is announced once somebody pauses, and only when it has changed.
(() => {
  let pause;
  document.addEventListener("htmx:afterSwap", (event) => {
    const said = document.getElementById("said");
    const heading = event.target.id === "similar" && document.getElementById("found");
    if (!heading || !said) return;
    clearTimeout(pause);
    pause = setTimeout(() => { if (said.textContent !== heading.textContent) said.textContent = heading.textContent; }, 1000);
  });
})();

// A chart is saved as PNG: the browser draws its SVG.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-png]");
  if (!link) return;
  event.preventDefault();
  const image = Object.assign(new Image(), { src: link.href });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.naturalWidth, height: image.naturalHeight });
  canvas.getContext("2d").drawImage(image, 0, 0);
  canvas.toBlob((blob) => {
    const saved = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: link.download });
    saved.click();
    URL.revokeObjectURL(saved.href);
  });
});

// Formulas are rendered by KaTeX, which is loaded by the first page that shows one.
(() => {
  const files = document.currentScript.dataset;
  const DELIMITERS = /^(\$\$?|\\[([])|(\$\$?|\\[)\]])$/g;
  let katexLoaded;
  const macros = new Map(); // a text's own commands hold for the text and its title
  const load = (tag, attributes) => new Promise((onload, onerror) => document.head.append(Object.assign(document.createElement(tag), { ...attributes, onload, onerror })));
  const loadKatex = () => Promise.all([load("link", { rel: "stylesheet", href: files.katexStyle }), load("script", { src: files.katex })]);
  const fit = (formula) => { // one that is wider than its place scrolls by itself
    formula.classList.remove("wide");
    const shown = formula.querySelector(".katex-display") ?? formula;
    if (formula === shown && formula.getClientRects().length && formula.offsetWidth > formula.closest("p, li, h1, h2, h3, td, div").clientWidth) formula.classList.add("wide");
    if (shown.scrollWidth > shown.clientWidth && shown.clientWidth) shown.tabIndex = 0;
    else shown.removeAttribute("tabindex");
  };
  const render = async (root) => {
    const formulas = [...root.querySelectorAll(".math:not(.done)")];
    if (!formulas.length) return;
    formulas.forEach((formula) => formula.classList.add("done"));
    await (katexLoaded ??= loadKatex());
    for (const formula of formulas) {
      const source = formula.textContent, place = formula.closest("article, li") ?? document.body;
      if (!macros.has(place)) macros.set(place, { "\\DeclareMathOperator": "\\gdef#1{\\operatorname{#2}}" });
      const options = {
        displayMode: /^(\$\$|\\\[|\\begin)/.test(source), errorColor: "inherit", maxSize: 20, maxExpand: 100, strict: "ignore",
        globalGroup: true, macros: macros.get(place),
      };
      const draw = (throwOnError) => katex.render(source.replace(DELIMITERS, ""), formula, { ...options, throwOnError });
      try { draw(true); } catch (error) {
        if (/Undefined control sequence/.test(error)) draw(false); // all but that command
        else formula.textContent = source;
      }
      fit(formula);
    }
  };
  document.addEventListener("htmx:load", (event) => render(event.target));
  const fitAll = () => document.querySelectorAll(".math.done").forEach(fit);
  addEventListener("resize", fitAll);
  document.fonts.addEventListener("loadingdone", fitAll); // until then, a formula has another font's width
  whenRead(() => render(document));
})();
