// askalike: similar questions below a field. Settings are data attributes of the script tag:
// archive, key, input and body (CSS selectors), k, label (by default in the page's language), count ("Similar questions: {n}"), theme (light, dark),
// feedback (off: what people choose or post all the same is neither sent nor counted).
const api = new URL(`v1/${encodeURIComponent(set.archive)}/`, script.src), off = set.feedback == "off"

whenReady(() => {
  const input = findInput()
  if (!input) return
  const body = find("body")
  let found = [], timer, asking, seen = off, opened
  const text = () => input.value.trimStart()
  const post = (path, values, options) => fetch(api + path, {
    method: "POST", credentials: "omit", ...options,
    headers: { "Content-Type": "application/json", ...(set.key && { Authorization: `Bearer ${set.key}` }) },
    body: JSON.stringify({ title: text(), body: body?.value, ...values }),
  })
  const say = (verdict, id) => off || text() &&
    post("feedback", { shown_ids: found.map(({ id }) => id), verdict, chosen_id: id, opened }, { keepalive: true })
  const describe = ({ title, snippet, matched_words: words }) => [
    make("span", { dir: "auto" }, ...title.split(/(\$[^$]+\$|[\p{L}\p{N}]+)/u).map((part) =>
      `${words}`.toLowerCase().split(/,|\s/).includes(part.toLowerCase()) ? make("b", {}, part) : part)),
    make("small", { dir: "auto" }, snippet),
  ]
  const show = addList(input, describe, (result) => {
    say("accept", result.id)
    opened = true
  })
  const ask = async () => {
    asking?.abort()
    asking = new AbortController()
    if (!text()[2]) return show(found = [])
    try {
      const answer = await post("similar", { k: +set.k || 5, prefix: true, count_shown: !seen }, { signal: asking.signal }), got = await answer.json()
      if (!answer.ok) throw got.detail
      show(found = got.results)
      seen ||= found[0]
    } catch (error) {
      if (error.name == "AbortError") return
      console.error("askalike:", error)
      show(found = [])
    }
  }
  const later = () => { clearTimeout(timer); timer = setTimeout(ask, 250) }
  on(input, "input", later)
  on(body, "input", later)
  on(input.form, "submit", () => say("posted_anyway"))
})
