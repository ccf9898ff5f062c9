// Single keys press buttons: A presses data-key="a", unless somebody is typing or has switched the keys off.
(() => {
  const isTextField = (element) => element.closest("input:not([type=checkbox]), textarea, select");
  const keysEnabled = () => localStorage.getItem("keys") !== "off";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTextField(event.target) || !keysEnabled()) return;
    const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    event.preventDefault();
    if (document.querySelector(".htmx-request")) return; // the page is about to change
    button.click();
  });
  const show = (root) => root.querySelectorAll("[data-keys]").forEach((box) => { box.checked = keysEnabled(); });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-keys]")) localStorage.setItem("keys", event.target.checked ? "on" : "off");
  });
  document.addEventListener("htmx:load", (event) => show(event.target));
  show(document);
})();

// Formulas are rendered by KaTeX, which is loaded by the first page that shows one.
(() => {
  const files = document.currentScript.dataset;
  const DELIMITERS = /^(\$\$?|\\[([])|(\$\$?|\\[)\]])$/g;
  let katexLoaded;
  const loadKatex = () => new Promise((done, failed) => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: files.katexStyle }));
    document.head.append(Object.assign(document.createElement("script"), { src: files.katex, onload: done, onerror: failed }));
  });
  const render = async (root) => {
    const formulas = [...root.querySelectorAll(".math:not(.done)")];
    if (!formulas.length) return;
    formulas.forEach((formula) => formula.classList.add("done"));
    await (katexLoaded ??= loadKatex());
    for (const formula of formulas) {
      const source = formula.textContent;
      katex.render(source.replace(DELIMITERS, ""), formula, { displayMode: /^(\$\$|\\\[|\\begin)/.test(source), throwOnError: false, strict: "ignore" });
    }
  };
  document.addEventListener("htmx:load", (event) => render(event.target));
  render(document);
})();
