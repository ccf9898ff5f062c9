// askalike: similar questions below a field. Settings are data attributes of the script tag:
// archive, key, input and body (CSS selectors), k, label (by default in the page's language), count ("Similar questions: {n}"), theme (light, dark),
// feedback (off: what people choose, and what they post all the same, is neither sent nor counted).
(() => {
  const script = document.currentScript, set = script.dataset
  const api = new URL(`v1/${encodeURIComponent(set.archive)}/`, script.src)
  const id = `askalike-${Math.random().toString(36).slice(2)}`
  const off = set.feedback == "off"
  const labels = { de: "Ähnliche Fragen", fr: "Questions similaires", ru: "Похожие вопросы" }
  const label = set.label || labels[document.documentElement.lang.slice(0, 2)] || "Similar questions"
  const make = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props)
    node.append(...children)
    return node
  }

  const style = new CSSStyleSheet()
  style.replaceSync(`
.askalike-list{position:absolute;z-index:99;box-sizing:border-box;margin:.25em 0 0;padding:.25em;list-style:none;
background:Canvas;color:CanvasText;border:1px solid;border-radius:.4em;text-align:start;
&[hidden]{display:none}
li{padding:.5em;border-radius:.3em;cursor:pointer;line-height:1.35;overflow-wrap:anywhere}
[aria-selected=true],li:hover{background:color-mix(in srgb,CanvasText 13%,Canvas)}
small{opacity:.8}}
.askalike-said{position:absolute;width:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`)
  document.adoptedStyleSheets.push(style)

  const find = (name) => {
    const found = set[name] && document.querySelector(set[name])
    if (found === null) console.error(`askalike: data-${name}="${set[name]}" matches nothing here`)
    return found
  }

  const start = () => {
    let input = find("input")
    if (input === null) return
    if (!input) {
      input = make("input", { type: "search" })
      script.after(make("label", {}, `${label} `, input))
    }
    const body = find("body")
    const list = make("ul", { className: "askalike-list", hidden: true, id, role: "listbox", ariaLabel: label })
    const said = make("div", { className: "askalike-said", role: "status" })
    let found = [], active = -1, timer, asking, seen = off, opened

    Object.assign(input, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: false, autocomplete: "off" })
    input.setAttribute("aria-controls", id)
    if (set.theme) list.style.colorScheme = set.theme
    input.after(list, said)

    const open = (on) => {
      list.hidden = !on
      input.ariaExpanded = on
      if (on) {
        list.dir = getComputedStyle(input).direction
        list.style.width = `${Math.max(input.offsetWidth, 200)}px`
        list.style.top = `${input.offsetTop + input.offsetHeight}px`
        list.style.left = `${input.offsetLeft}px`
      } else mark(-1)
    }
    const headers = { "Content-Type": "application/json", ...(set.key && { Authorization: `Bearer ${set.key}` }) }
    const text = () => input.value.trim()
    const mark = (at) => {
      active = at
      ;[...list.children].forEach((option, n) => { option.ariaSelected = n === at })
      if (at < 0) input.removeAttribute("aria-activedescendant")
      else input.setAttribute("aria-activedescendant", list.children[at].id)
    }
    const post = (path, values, options) => fetch(api + path, {
      method: "POST", credentials: "omit", headers, ...options,
      body: JSON.stringify({ title: text(), body: body?.value, ...values }),
    })
    const say = (verdict, id) => text() && !off &&
      post("feedback", { shown_ids: found.map(({ id }) => id), verdict, chosen_id: id, opened }, { keepalive: true })
    const choose = (result) => {
      say("accept", result.id)
      opened = true
      const told = new CustomEvent("askalike", { detail: result, bubbles: true, cancelable: true })
      if (input.dispatchEvent(told) && /^https?:/.test(result.url)) location.assign(result.url)
      open(false)
    }
    const title = ({ title, matched_words: words }) =>
      title.split(/(\$[^$]+\$|[\p{L}\p{N}]+)/u).map((part) =>
        words.some((word) => word.toLowerCase() === part.toLowerCase()) ? make("b", {}, part) : part)
    const show = (results) => {
      found = results
      list.replaceChildren(...found.map((result, n) => {
        const option = make("li", { id: `${id}-${n}`, role: "option", onclick: () => choose(result) },
          make("span", { dir: "auto" }, ...title(result)))
        if (result.snippet) option.append(make("br"), make("small", { dir: "auto" }, result.snippet))
        return option
      }))
      mark(-1)
      open(found.length > 0)
      said.textContent = found.length ? (set.count || `${label}: {n}`).replace("{n}", found.length) : ""
    }
    const ask = async () => {
      asking?.abort()
      asking = new AbortController()
      if (text().length < 3) return show([])
      try {
        const answer = await post("similar", { k: +set.k || 5, prefix: true, count_shown: !seen }, { signal: asking.signal })
        const got = await answer.json()
        if (!answer.ok) throw got.detail
        show(got.results)
        seen ||= found[0]
      } catch (error) {
        if (error.name === "AbortError") return
        console.error("askalike:", error)
        show([])
      }
    }
    const later = () => { clearTimeout(timer); timer = setTimeout(ask, 250) }

    input.addEventListener("input", later)
    body?.addEventListener("input", later)
    input.form?.addEventListener("submit", () => say("posted_anyway"))
    input.addEventListener("blur", () => open(false))
    list.addEventListener("pointerdown", (event) => event.preventDefault())
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (event.isComposing || !found.length) return
      if (step) {
        event.preventDefault()
        const places = found.length + 1
        if (list.hidden) open(true)
        mark((active + 1 + step + places) % places - 1)
      } else if (event.key === "Escape" && !list.hidden) {
        event.preventDefault()
        open(false)
      } else if (event.key === "Enter" && active >= 0) {
        event.preventDefault()
        choose(found[active])
      }
    })
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start)
  else start()
})()
