// Draws the formulas between dollar signs in lists of similar questions, as MathML, which browsers show by themselves.
// It is loaded by the first list that has one, and loads KaTeX. Prices are no formulas: "from $5 to $10".
(() => {
  const FORMULA = /\$(?!\s)([^$]+)(?<!\s)\$(?!\d)/
  const source = new URL("static/vendor/katex/katex.min.js", document.currentScript.src)
  const draw = (tex) => {
    const formula = Object.assign(document.createElement("span"), { className: "askalike-formula" })
    try { katex.render(tex, formula, { output: "mathml", strict: "ignore", maxSize: 20, maxExpand: 100 }) } catch { formula.textContent = tex }
    return formula
  }
  const drawAll = (list) => {
    const walker = document.createTreeWalker(list, NodeFilter.SHOW_TEXT), texts = []
    while (walker.nextNode())
      if (FORMULA.test(walker.currentNode.data) && !walker.currentNode.parentNode.closest(".askalike-formula, pre")) texts.push(walker.currentNode)
    for (const text of texts) text.replaceWith(...text.data.split(FORMULA).map((part, n) => n % 2 ? draw(part) : part))
  }
  const start = () => {
    for (const list of document.querySelectorAll(".askalike-list, #found")) {
      drawAll(list)
      new MutationObserver(() => drawAll(list)).observe(list, { childList: true, subtree: true })
    }
  }
  if (window.katex) start()
  else document.head.append(Object.assign(document.createElement("script"), { src: source, onload: start }))
})()
