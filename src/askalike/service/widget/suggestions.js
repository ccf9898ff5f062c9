// A field with a list of similar questions below it, for mouse, keyboard and screen readers. Widgets begin with this file.
const script = document.currentScript, set = script.dataset, id = `askalike-${Math.random()}`
const label = set.label || { de: "Ähnliche Fragen", fr: "Questions similaires", ru: "Похожие вопросы" }[document.documentElement.lang.slice(0, 2)] ||
  "Similar questions"
const make = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props)
  node.append(...children)
  return node
}
const on = (node, event, act) => node?.addEventListener(event, act)
const style = new CSSStyleSheet()
style.replaceSync(`.askalike-list{position:absolute;z-index:99;box-sizing:border-box;margin:.25em 0;padding:.25em;list-style:none;
background:Canvas;color:CanvasText;border:1px solid;border-radius:.4em;text-align:start;
&[hidden]{display:none}
li{padding:.5em;border-radius:.3em;cursor:pointer;line-height:1.35;overflow-wrap:anywhere}
[aria-selected=true],li:hover{background:color-mix(in srgb,CanvasText 13%,Canvas)}
small{display:block;opacity:.8}}
.askalike-said{position:absolute;width:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`)
document.adoptedStyleSheets.push(style)

const find = (name) => {
  const field = set[name] && document.querySelector(set[name])
  if (field === null) console.error(`askalike: no ${set[name]} (data-${name})`)
  return field
}
// Without data-input, a search field appears in place of the tag.
const findInput = () => {
  if (set.input) return find("input")
  const input = make("input", { type: "search" })
  script.after(make("label", {}, `${label} `, input))
  return input
}

// Returns a function that shows results; describe(result) returns the children of its option, report(result) hears of a choice.
const addList = (input, describe, report = () => {}) => {
  const list = make("ul", { className: "askalike-list", hidden: true, id, role: "listbox", ariaLabel: label }),
    said = make("div", { className: "askalike-said", role: "status" })
  let found = [], active = -1, math
  Object.assign(input, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: false, autocomplete: "off" })
  input.setAttribute("aria-controls", id)
  // Outside of the label, whose text names the field; inside, if the field's place is told from there.
  const outer = input.closest("label")
  ;(outer?.contains(input.offsetParent) ? input : outer || input).after(list, said)

  const open = (shown) => {
    list.hidden = !shown
    input.ariaExpanded = shown
    list.dir = getComputedStyle(input).direction
    Object.assign(list.style, {
      colorScheme: set.theme || "",
      width: `${Math.max(input.offsetWidth, 200)}px`,
      top: `${input.offsetTop + input.offsetHeight}px`,
      left: `${input.offsetLeft}px`,
    })
    mark(-1)
  }
  const mark = (at) => {
    active = at
    ;[...list.children].forEach((option, n) => option.ariaSelected = n == at)
    input.setAttribute("aria-activedescendant", list.children[at]?.id || "")
  }
  const choose = (result) => {
    report(result)
    if (
      input.dispatchEvent(new CustomEvent("askalike", { detail: result, bubbles: true, cancelable: true })) &&
      /^https?:/.test(result.url)
    ) location = result.url
    open(false)
  }
  on(input, "blur", () => open(false))
  on(list, "pointerdown", (event) => event.preventDefault())
  on(input, "keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], places = found.length + 1
    if (event.isComposing || !found[0]) return
    if (step) {
      if (list.hidden) open(true)
      mark((active + 1 + step + places) % places - 1)
    } else if (event.key == "Escape" && !list.hidden) open(false)
    else if (event.key == "Enter" && active >= 0) choose(found[active])
    else return
    event.preventDefault()
  })
  return (results) => {
    found = results
    list.replaceChildren(...found.map((result, n) =>
      make("li", { id: `${id}-${n}`, role: "option", onclick: () => choose(result) }, ...describe(result))))
    open(!!found[0])
    if (!math && /\$.+\$/.test(list.innerText))
      script.after(math = make("script", { src: new URL("formulas.js", script.src) }))
    said.textContent = found[0] ? (set.count || `${label}: {n}`).replace("{n}", found.length) : ""
  }
}
const whenReady = (start) => document.readyState == "loading" ? on(window, "DOMContentLoaded", start) : start()
