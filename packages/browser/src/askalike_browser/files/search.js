// askalike: finds similar questions among those in data/, in this browser. page.js and widget.js show them.
// askalikeSite.ready: a promise of the words and titles; .complete: of the vectors, too. Until then words answer.
globalThis.askalikeSite ??= (() => {
  const folder = new URL(".", document.currentScript.src)
  // What askalike's own search has, too, comes with the data as `rules`; these are this script's own.
  const ADDED_AT_ONCE = 2000, QUERY_STEPS = 2047
  const HEAD = 64, EXACT = 2000 // the first components of all documents are compared, then all of the best documents

  // ---- data: scripts that call receive(name, base64 of gzip), see write_data in data.py

  const arrayTypes = { int8: Int8Array, uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array, uint64: BigUint64Array }
  const waiting = {}

  const unpack = async (text) => {
    const binary = atob(text), packed = new Uint8Array(binary.length)
    for (let n = 0; n < packed.length; n++) packed[n] = binary.charCodeAt(n)
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
    const buffer = await new Response(stream).arrayBuffer()
    const values = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, new DataView(buffer).getUint32(0, true))))
    for (const [name, [type, start, length]] of Object.entries(values.arrays)) values[name] = new arrayTypes[type](buffer, start, length)
    return values
  }
  const load = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script")
    waiting[name] = resolve
    script.src = new URL(`data/${name}.js`, folder)
    script.onerror = () => reject(new Error(`askalike: ${script.src} cannot be loaded`))
    script.onload = () => script.remove()
    document.head.append(script)
  })
  const receive = (name, text) => waiting[name]?.(unpack(text))
  const pause = () => new Promise((resolve) => setTimeout(resolve))

  // ---- words, as askalike's analyzer divides and stems them

  let words, titles, vectors, rules
  const own = {} // what is derived from them

  const prepareWords = () => {
    own.words = words.words ? words.words.split("\n") : []
    own.terms = words.terms ? words.terms.split("\n") : []
    own.numbers = new Map(own.words.map((word, n) => [word, n]))
    own.termNumbers = new Map(own.terms.map((term, n) => [term, n]))
    own.stopWords = new Set(words.stopWords)
    own.light = new Set(words.lightTerms)
    own.endings = new Map(Object.entries(words.endings))
    own.fields = words.fieldWeights.length
    own.firstRows = new Int32Array(titles.titles.length + 1)
    for (const document of words.documents) own.firstRows[document + 1]++
    for (let n = 0; n < titles.titles.length; n++) own.firstRows[n + 1] += own.firstRows[n]
    const { rows, starts } = words
    for (let term = 0; term + 1 < starts.length; term++)
      for (let at = starts[term] + 1; at < starts[term + 1]; at++) rows[at] += rows[at - 1]
    prepareRules()
    Object.assign(own, makeReader(rules, findContentTerms))
    own.titled = new Map()
    titles.titles.forEach((title, n) => {
      for (const text of [title, ...titles.rephrasings[n] || []]) {
        const folded = foldTitle(text)
        if (folded) own.titled.set(folded, (own.titled.get(folded) || new Set()).add(n))
      }
    })
  }
  const prepareRules = () => {
    const { cjk, apostrophes, hyphens, droppedMarks } = rules.words, joint = `[${apostrophes}${hyphens}]`
    const letter = `(?:(?!${cjk})[\\p{L}\\p{N}_])`, word = `${letter}+(?:\\p{M}+${letter}*)*`
    own.cjk = new RegExp(`^${cjk}`, "u")
    own.word = new RegExp(`${word}|${cjk}+`, "gu")
    own.joinedWord = new RegExp(`${word}(?:${joint}${word})*|${cjk}+`, "gu")
    own.joint = new RegExp(joint, "u")
    own.hyphen = new RegExp(`[${hyphens}]`, "u")
    own.droppedMarks = new RegExp(droppedMarks, "g")
    own.invisible = new RegExp(rules.texts.invisible, "g")
    own.link = new RegExp(rules.texts.link, "gi")
    own.neighbours = new Map()
    for (const keys of rules.typos.keyboards)
      keys.forEach((row, y) => [...row].forEach((letter, x) => {
        const near = [[y, x - 1], [y, x + 1], [y - 1, x], [y - 1, x + 1], [y + 1, x - 1], [y + 1, x]]
        own.neighbours.set(letter, near.map(([j, i]) => keys[j]?.[i]).filter(Boolean))
      }))
  }
  const clean = (text) => text.replace(own.invisible, "").normalize("NFKC")
    .replace(/[\s\0-\x1f\x7f-\x9f]+/g, " ").trimStart().replace(own.link, ` ${rules.texts.linkToken} `)
  const fold = (word) => word.toLowerCase().normalize("NFC").replaceAll("’", "'").replace(own.droppedMarks, "")
  const foldTitle = (title) => (title.normalize("NFKC").toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []).join(" ")

  // The number of a word's term; of a word that no question has, the known term to which its ending leads; -1 for none.
  const findTerm = (word) => {
    const known = own.numbers.get(word)
    if (known !== undefined && words.wordTerms[known] >= 0) return words.wordTerms[known]
    return own.termNumbers.get(stem(word, own.termNumbers)) ?? -1
  }
  // The first of some terms to which an ending of a word leads; else the word.
  const stem = (word, known) => {
    for (let at = Math.max(words.minBeginning, word.length - words.maxEnding); at <= word.length; at++)
      for (const ending of own.endings.get(word.slice(at)) || []) {
        const term = word.slice(0, at) + ending
        if (known.has(term)) return term
      }
    return word
  }
  // The terms of a text without function words, whose words with hyphens are several.
  const findContentTerms = (text) => analyze(text, false).filter(({ word }) => !own.stopWords.has(word))
    .map(({ word, term }) => own.terms[term] ?? word)
  const divide = (word) => words.contracts
    ? word.split(own.hyphen).map((part) => part.replaceAll("’", "'").replace(/'[sS]$/, "").replaceAll("'", ""))
    : word.split(own.joint)

  // The words of a text with their terms: [{ word, term, start, end }]
  const analyze = (text, joins = words.joins) => {
    const found = []
    for (const { 0: word, index: start } of text.matchAll(joins ? own.joinedWord : own.word)) {
      const end = start + word.length, add = (part) => part && found.push({ word: fold(part), term: findTerm(fold(part)), start, end })
      if (own.cjk.test(word)) {
        const letters = [...word]
        if (letters.length === 1) add(word)
        letters.slice(1).forEach((letter, n) => add(letters[n] + letter))
      } else if (joins && own.joint.test(word)) {
        const parts = divide(word).filter(Boolean), whole = parts.join("")
        if (parts.length > 1 && parts.length <= rules.words.maxJoined && parts.length === word.split(own.hyphen).length && !/^\p{N}+$/u.test(whole)) add(whole)
        parts.forEach(add)
      } else add(word)
    }
    return found
  }

  // ---- misspelt and unfinished words

  const isClose = (a, b) => a === b || own.neighbours.get(b)?.includes(a)
  const isLikelyTypo = (typed, word, cost, i = 0, j = 0) => {
    while (i < typed.length && j < word.length && typed[i] === word[j]) { i++; j++ }
    if (i === typed.length && j === word.length) return true
    if (cost < 1) return false
    const { vowels, sounds, phoneticFrom, unlikelyCost } = rules.typos, phonetic = typed.length >= phoneticFrom
    const price = (likely) => (likely ? 1 : unlikelyCost)
    const after = (paid, n, m) => paid <= cost && isLikelyTypo(typed, word, cost - paid, i + n, j + m)
    if (i + 1 < typed.length && typed[i] === word[j + 1] && typed[i + 1] === word[j] && after(1, 2, 2)) return true
    if (j < word.length && after(1, 0, 1)) return true
    if (i < typed.length) {
      const likely = [typed[i - 1], typed[i + 1]].some((letter) => letter && isClose(typed[i], letter))
      if (after(price(likely), 1, 0)) return true
    }
    if (i < typed.length && j < word.length) {
      const bothVowels = phonetic && vowels.includes(typed[i]) && vowels.includes(word[j])
      if (after(price(bothVowels || isClose(typed[i], word[j])), 1, 1)) return true
    }
    return phonetic && sounds.some(([sound, same]) => typed.startsWith(sound, i) && word.startsWith(same, j) && after(1, sound.length, same.length))
  }
  const df = (term) => {
    let most = 0
    for (let field = 0; field < own.fields; field++) most = Math.max(most, words.df[field * own.terms.length + term])
    return most
  }
  const complete = (start) => {
    const found = []
    own.terms.forEach((term, n) => { if (term.startsWith(start)) found.push(n) })
    return found.sort((a, b) => df(b) - df(a) || a - b).slice(0, rules.hits.maxCompletions)
  }
  const nearestWord = (typed, allowed) => {
    let best, most = [Infinity]
    for (let n = 0; n < own.words.length; n++) {
      const word = own.words[n]
      if (Math.abs(word.length - typed.length) > allowed || word.length < rules.spelling.minLetters - 1) continue
      for (let cost = 1; cost <= Math.min(allowed, most[0]); cost++)
        if (isLikelyTypo(typed, word, cost)) {
          const rank = [cost, word[0] === typed[0] ? 0 : 1, -words.wordCounts[n]]
          const differs = rank.findIndex((value, k) => value !== most[k])
          if (differs >= 0 && !(rank[differs] > most[differs])) [best, most] = [word, rank]
          break
        }
    }
    return best
  }
  const nearestStart = (typed) => {
    const counts = new Map()
    own.words.forEach((word, n) => {
      if (word[0] !== typed[0]) return
      for (const length of [typed.length, typed.length + 1, typed.length - 1]) {
        const start = word.slice(0, length)
        if (start.length === length && isLikelyTypo(typed, start, 1)) { counts.set(start, (counts.get(start) || 0) + words.wordCounts[n]); break }
      }
    })
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0]
  }
  const remembered = new Map()
  const correctWord = (word, unfinished) => {
    const key = `${word} ${unfinished}`
    if (!remembered.has(key)) {
      const near = unfinished ? nearestStart(word) : undefined
      remembered.set(key, near || nearestWord(word, word.length < rules.spelling.twoEditsFrom ? 1 : 2))
    }
    return remembered.get(key)
  }
  const correct = (text, prefix) => {
    const { joints, minLetters, maxUnknown } = rules.spelling
    const long = analyze(text).filter(({ word, start, end }) => {
      const isJoint = (letter) => letter && joints.includes(letter)
      const beside = (isJoint(text[start - 1]) && /[\p{L}\p{N}]/u.test(text[start - 2])) || (isJoint(text[end]) && /[\p{L}\p{N}]/u.test(text[end + 1]))
      return word.length >= minLetters && /^\p{L}+$/u.test(word) && !own.stopWords.has(word) && !beside
    }).filter(({ word, end }) => !(prefix && end === text.length && complete(word).length))
    const unknown = long.filter(({ term }) => term < 0)
    const corrections = {}
    let corrected = text
    for (const { word, start, end } of [...unknown].reverse()) {
      const meant = correctWord(word, prefix && end === text.length)
      if (meant) {
        corrections[text.slice(start, end)] = meant
        corrected = corrected.slice(0, start) + meant + corrected.slice(end)
      }
    }
    const every = Object.keys(corrections).length === new Set(unknown.map(({ word }) => word)).size
    const foreign = unknown.length > maxUnknown && 2 * unknown.length > long.length
    return every || !foreign ? { text: corrected, corrections } : { text, corrections: {} }
  }
  // The text with an unknown unfinished last word completed, for the vectors of whole words.
  const finish = (text) => {
    const last = analyze(text).at(-1)
    if (!last || last.end < text.length || !/^\p{L}+$/u.test(last.word) || last.term >= 0) return text
    const [term] = complete(last.word)
    let best = -1
    own.words.forEach((word, n) => {
      if (words.wordTerms[n] === term && word.startsWith(last.word) && (best < 0 || words.wordCounts[n] > words.wordCounts[best])) best = n
    })
    return best < 0 ? text : text.slice(0, last.start) + own.words[best]
  }

  // ---- scores of words: the language model of lm_jelinek_mercer, and the mean of two shares that makes it absolute

  const read = (typed, prefix) => {
    const { text, corrections } = words.corrects ? correct(typed, prefix) : { text: typed, corrections: {} }
    const every = analyze(text), last = every.at(-1)
    const finished = new Map(), completions = new Set()
    const unfinished = prefix && last && last.end === text.length
    const unfinishedCount = unfinished && own.cjk.test(last.word) ? 0 : 1
    for (const { word, term } of unfinished && unfinishedCount ? every.slice(0, -1) : every) {
      const key = term < 0 ? word : term
      finished.set(key, (finished.get(key) || 0) + 1)
    }
    if (unfinished && unfinishedCount)
      for (const term of [last.term < 0 ? last.word : last.term, ...complete(last.word)]) if (!finished.has(term)) completions.add(term)
    return { text, corrections, finished, completions, whole: prefix ? finish(text) : text }
  }
  const scoreWords = ({ finished, completions }) => {
    const rows = words.documents.length, documents = titles.titles.length, { starts, frequencies, lengths, totals } = words
    const ratio = (1 - words.ranking.lambda) / words.ranking.lambda
    const sums = new Float64Array(documents), shares = new Float64Array(documents), sumsOfRows = new Float64Array(rows)
    for (let field = 0; field < own.fields; field++) {
      const offset = field * own.terms.length, score = new Float64Array(rows), information = new Float64Array(rows)
      const statistics = (term) => {
        const known = typeof term === "number", n = known ? words.df[offset + term] : 0
        return {
          odds: ratio * (totals[field] + 1) / ((known ? words.ttf[offset + term] : 0) + 1),
          idf: Math.log1p((words.owned - n + 0.5) / (n + 0.5)),
          weight: known && own.light.has(own.terms[term]) ? words.lightWeight : 1,
        }
      }
      const visit = (term, odds, use) => {
        if (typeof term === "number")
          for (let at = starts[offset + term]; at < starts[offset + term + 1]; at++) {
            const row = words.rows[at]
            use(row, Math.log1p(odds * frequencies[at] / lengths[field * rows + row]))
          }
      }
      let length = completions.size ? 1 : 0, ownScore = 0, total = 0
      for (const count of finished.values()) length += count
      for (const [term, count] of finished) {
        const { odds, idf, weight } = statistics(term)
        visit(term, odds, (row, value) => { score[row] += count * weight * value; information[row] += idf })
        ownScore += count * weight * Math.log1p(odds * count / length)
        total += idf
      }
      if (completions.size) {
        const bestScore = new Float64Array(rows), known = [...completions].map((term) => [term, statistics(term)])
        const idf = Math.min(...known.map(([, own]) => own.idf))
        for (const [term, { odds, weight }] of known)
          visit(term, odds, (row, value) => { bestScore[row] = Math.max(bestScore[row], weight * value) })
        for (let row = 0; row < rows; row++)
          if (bestScore[row]) { score[row] += bestScore[row]; information[row] += idf }
        ownScore += Math.min(...known.map(([, { odds, weight }]) => weight * Math.log1p(odds / length)))
        total += idf
      }
      for (let row = 0; row < rows; row++)
        if (score[row]) {
          const document = words.documents[row], share = (score[row] / ownScore + information[row] / total) / 2
          sumsOfRows[row] += words.fieldWeights[field] * score[row]
          shares[document] = Math.max(shares[document], share)
          sums[document] = Math.max(sums[document], sumsOfRows[row])
        }
    }
    return { sums, shares }
  }

  // ---- vectors: sums of a lookup table's rows

  const prepareVectors = async () => {
    const { dim, counts, used } = vectors
    own.place = new Int32Array(counts[0] + counts[1] + counts[2]).fill(-1)
    used.forEach((row, n) => { own.place[row] = n })
    own.subwords = new Map(vectors.subwords.split("\n").map((subword, n) => [subword, n]))
    own.functionWords = vectors.functionWords.map((list) => new Set(list.split(" ")))
    own.divided = new Map()
    if (vectors.documentEnds) await addDocuments()
    const { vectors: all, vectorScales: scales } = vectors, head = Math.min(HEAD, dim)
    vectors.heads = new Int8Array(scales.length * head)
    for (let n = 0; n < scales.length; n++) vectors.heads.set(all.subarray(n * dim, n * dim + head), n * head)
  }
  const addDocuments = async () => {
    const { dim, documentEnds: ends, maxByte } = vectors
    const all = new Int8Array(ends.length * dim), scales = new Float32Array(ends.length), sum = new Float32Array(dim)
    for (let n = 0; n < ends.length; n++) {
      if (n % ADDED_AT_ONCE === 0) await pause()
      sum.fill(0)
      for (let at = n ? ends[n - 1] : 0; at < ends[n]; at++) addRow(vectors.documentRows[at], sum)
      let length = 0, largest = 0
      for (let i = 0; i < dim; i++) { length += sum[i] * sum[i]; largest = Math.max(largest, Math.abs(sum[i])) }
      if (!length) continue
      for (let i = 0; i < dim; i++) all[n * dim + i] = Math.round(sum[i] / largest * maxByte)
      scales[n] = largest / maxByte / Math.sqrt(length)
    }
    Object.assign(vectors, { vectors: all, vectorScales: scales })
  }
  const addRow = (row, sum) => {
    const place = own.place[row]
    if (place < 0) return
    const { dim, table, tableScales } = vectors, scale = tableScales[place]
    for (let i = 0, at = place * dim; i < dim; i++) sum[i] += scale * table[at + i]
  }
  // The subwords of a word: byte pairs are joined in the order of the vocabulary (Sennrich et al. 2016).
  const divideWord = (word) => {
    const letters = [...word], parts = [], { wordStart, maxWordPart } = rules.subwords
    for (let at = 0; at < letters.length; at += maxWordPart) {
      const symbols = [...(at ? [] : [wordStart]), ...letters.slice(at, at + maxWordPart)]
        .flatMap((symbol) => own.subwords.has(symbol) ? symbol
          : [...new TextEncoder().encode(symbol)].map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`))
      for (;;) {
        let best = Infinity, place = -1
        for (let n = 0; n + 1 < symbols.length; n++) {
          const joined = own.subwords.get(symbols[n] + symbols[n + 1])
          if (joined < best) { best = joined; place = n }
        }
        if (place < 0) break
        symbols.splice(place, 2, symbols[place] + symbols[place + 1])
      }
      parts.push(...symbols.map((symbol) => own.subwords.get(symbol)))
    }
    return parts
  }
  const skipFunctionWords = (tokens) => {
    const counts = own.functionWords.map((list) => tokens.map((token) => {
      const found = token.toLowerCase().match(/[\p{L}\p{N}_]+/gu)
      return found !== null && found.every((word) => list.has(word))
    }))
    const sizes = counts.map((marks) => marks.filter(Boolean).length), most = Math.max(0, ...sizes), best = sizes.indexOf(most)
    return best > 0 && most < tokens.length ? tokens.filter((_, n) => !counts[best][n]) : tokens
  }
  const encode = (text) => {
    const { dim, counts: [subwords, hashed, pairs] } = vectors, sum = new Float32Array(dim)
    let last = 0n
    for (let token of skipFunctionWords(text.split(/\s+/).filter(Boolean).slice(0, vectors.longest))) {
      if (vectors.lowerCase) token = token.toLowerCase()
      if (subwords) {
        if (!own.divided.has(token)) own.divided.set(token, divideWord(token))
        for (const row of own.divided.get(token)) addRow(row, sum)
      }
      if (!hashed && !pairs) continue
      for (const word of token.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []) {
        const known = own.numbers.get(word)
        if (known === undefined) { last = 0n; continue }
        const hash = vectors.hashes[known]
        if (hashed) addRow(subwords + Number(hash % BigInt(hashed)), sum)
        if (pairs && last) {
          let pair = BigInt.asUintN(64, BigInt.asUintN(64, last * 0x9E3779B97F4A7C15n) ^ hash)
          pair = BigInt.asUintN(64, (pair ^ (pair >> 29n)) * 0xBF58476D1CE4E5B9n)
          addRow(subwords + hashed + Number((pair >> 8n) % BigInt(pairs)), sum)
        }
        last = hash
      }
    }
    return sum
  }
  const multiply = (a, b, at, length) => {
    let product = 0
    for (let i = 0; i < length; i += 4, at += 4)
      product = (product + a[i] * b[at] + a[i + 1] * b[at + 1] + a[i + 2] * b[at + 2] + a[i + 3] * b[at + 3]) | 0
    return product
  }
  // Functions that return the cosine of the query and a row of words.documents, by all components or by the first.
  const compareWith = (query) => {
    const { dim, heads, vectors: all, vectorScales: scales, fieldWeights } = vectors, rows = words.documents.length
    let length = 0, largest = 0
    for (const value of query) { length += value * value; largest = Math.max(largest, Math.abs(value)) }
    if (!length) return null
    const steps = Int32Array.from(query, (value) => Math.round(value / largest * QUERY_STEPS))
    const scale = largest / QUERY_STEPS / Math.sqrt(length), head = Math.min(HEAD, dim)
    const sum = (row, vectors, length) => {
      let cosine = 0
      for (let field = 0, n = row; field < fieldWeights.length; field++, n += rows)
        cosine += fieldWeights[field] * multiply(steps, vectors, n * length, length) * scales[n]
      return cosine * scale
    }
    return { exact: (row) => sum(row, all, dim), roughly: (row) => sum(row, heads, head) }
  }
  // The lowest of the EXACT highest values, which are between 0 and 1; a little lower, as values are counted in steps.
  const findThreshold = (values) => {
    const counts = new Int32Array(1025)
    for (const value of values) counts[Math.ceil(Math.min(Math.max(value, 0), 1) * 1024)]++
    let step = 1024, count = counts[1024]
    while (step && count + counts[step - 1] <= EXACT) count += counts[--step]
    return (step - 1) / 1024
  }

  // ---- the search

  const readAsTyped = (typed, prefix) => {
    const query = read(clean(typed).trimEnd(), prefix)
    const vector = own.hasVectors ? encode(query.whole) : null
    return { ...query, vector, title: Object.keys(query.corrections).length ? query.text : typed }
  }
  // How similar the questions are to one reading: `scores` of all, 0 for none; `score` and `absolute` of one, of which the latter is 1 for the same text.
  const rank = (query) => {
    const { sums, shares } = scoreWords(query), cosines = query.vector && compareWith(query.vector)
    if (!cosines) return { scores: sums, score: (n) => sums[n], absolute: (n) => shares[n] }
    const [ofWords, ofVectors] = words.ranking.weights, lowest = words.ranking.minScore ?? -Infinity
    const { documents } = words, values = new Float64Array(shares.length), scores = new Float64Array(shares.length)
    const sum = (row, cosine) => ofWords * shares[documents[row]] + ofVectors * cosine
    const score = (document) => {
      let most = 0
      for (let row = own.firstRows[document]; row < own.firstRows[document + 1]; row++) {
        const cosine = cosines.exact(row)
        if (shares[document] || cosine >= lowest) most = Math.max(most, sum(row, cosine))
      }
      return most
    }
    let threshold = -Infinity
    if (documents.length > EXACT) {
      for (let row = 0; row < documents.length; row++) {
        const value = sum(row, cosines.roughly(row))
        if (value > values[documents[row]]) values[documents[row]] = value
      }
      threshold = findThreshold(values)
    }
    for (let document = 0; document < scores.length; document++) if (values[document] >= threshold) scores[document] = score(document)
    return { scores, score, absolute: score }
  }
  const best = (scores, k) => {
    const top = []
    for (let n = 0; n < scores.length; n++) {
      if (!(scores[n] > 0) || (top.length === k && scores[n] <= scores[top[k - 1]])) continue
      let at = top.length
      while (at && scores[top[at - 1]] < scores[n]) at--
      top.splice(at, 0, n)
      if (top.length > k) top.pop()
    }
    return top
  }
  const findTitled = (text) => [...own.titled.get(foldTitle(text)) || []].slice(0, rules.hits.maxTitles)
  // Returns a function of the number of questions: the best for all readings of a text, [{ number, score, absolute }].
  const retrieve = (queries) => {
    const [whole, ...others] = queries.map((query) => ({ ...rank(query), titled: findTitled(query.title), weight: own.weigh(query.text) }))
    const measure = (number) => {
      const absolute = whole.absolute(number)
      const raised = Math.max(absolute, ...others.map((one) => absolute + one.weight * (one.absolute(number) - absolute)))
      return { number, score: whole.score(number) * (absolute > 0 ? raised / absolute : 1), absolute: raised }
    }
    return (depth) => {
      const pool = new Set([whole, ...others].flatMap(({ scores, titled }) => [...best(scores, depth), ...titled]))
      const found = [...pool].map(measure).filter(({ score, number }) => score > 0 || whole.titled.includes(number))
      return found.sort((a, b) => whole.titled.includes(b.number) - whole.titled.includes(a.number) || b.score - a.score || a.number - b.number).slice(0, depth)
    }
  }
  // Puts answered questions first, and originals in place of their duplicates.
  const arrange = (found, { titled }, k) => {
    const key = ({ number, score }) => score > 0 && !titled.includes(number) && !titles.settled[number] ? score * (1 - rules.hits.answeredFirst) : score
    const ordered = [...found].sort((a, b) => titled.includes(b.number) - titled.includes(a.number) || key(b) - key(a)), shown = new Map()
    for (const one of ordered) {
      const original = titles.originals[one.number]
      if (shown.size < k && !shown.has(original)) shown.set(original, one)
    }
    return [...shown].map(([original, one]) => ({ ...one, original }))
  }
  const detectLanguage = (text) => {
    const tokens = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []
    const counts = Object.entries(words.ranking.functionWords).map(([code, list]) => [tokens.filter((token) => list.includes(token)).length, code])
    const [[most, code], [next]] = [...counts, [0, ""], [0, ""]].sort((a, b) => b[0] - a[0])
    return most > next ? code : ""
  }
  // How far a query's vector lowers the limits: the product of it at length 1, and of 1, with the rule's direction.
  const place = (vector, direction) => {
    const length = Math.hypot(...vector) || 1
    return vector.reduce((sum, value, n) => sum + value / length * direction[n], direction.at(-1))
  }
  // Returns a function that grades a question as "same", "related", or null: not shown.
  const makeGrader = ({ text, vector, corrections }, titled, first) => {
    const { usual, languages } = words.vectors && !own.hasVectors ? words.ranking.wordLimits : words.ranking.limits
    const { limits: [atLevel, likely, listed], direction } = languages[detectLanguage(text)] || usual
    const lower = direction.length && vector ? place(vector, direction) : 0, least = atLevel - lower
    const related = first >= least ? listed - lower : least, same = Math.max(likely, least)
    const terms = findContentTerms(text), isWord = text.trim().split(/\s+/).length === 1
    const asksNothing = (text.match(/[\p{L}\p{N}]/gu) || []).length < rules.hits.minCharacters || !terms.length
    const isKeyword = (number) => terms.length === 1 && !Object.keys(corrections).length && findContentTerms(titles.titles[number]).includes(terms[0])
    return ({ number, absolute }) => {
      if (asksNothing) return null
      if (titled.includes(number)) return "same"
      if (isWord) return absolute >= related || isKeyword(number) ? "related" : null
      return absolute >= same ? "same" : absolute >= related ? "related" : null
    }
  }
  // The k most similar questions: { hits: [{ number, id, title, url, has, score, grade }], corrections: { typed: meant }, words }.
  // prefix: the last word may be unfinished. all: also what is not similar enough. has: 1 for answers that can be unfolded, 2 for only a text, 0 for neither.
  // words: those of the question, corrected, without function words.
  const search = (typed, { k = 10, prefix = true, all = false } = {}) => {
    if (!titles.titles.length) return { hits: [], corrections: {}, words: [] }
    const queries = own.findReadings(typed).map((text) => readAsTyped(text, prefix)), [whole] = queries
    const titled = findTitled(whole.title), find = retrieve(queries)
    let depth = k, found, graded
    for (;; depth *= rules.hits.depthFactor) {
      found = find(depth)
      const grade = makeGrader(whole, titled, found.length ? found[0].absolute : 0)
      graded = arrange(found, { titled }, k).map((one) => ({ ...one, grade: grade(one) }))
      const isEnough = graded.length >= k || found.length < depth || (graded.length && !all && !graded.at(-1).grade)
      if (isEnough || depth >= rules.hits.maxDepthFactor * k) break
    }
    const isSame = ({ grade }) => grade === "same", shown = graded.filter((one) => all || one.grade)
    const hits = shown.sort((a, b) => isSame(b) - isSame(a)).map(({ original: number, score, grade }) => (
      { number, id: titles.ids[number], title: titles.titles[number], url: titles.urls[number], has: titles.kinds[number], score, grade }))
    const every = whole.text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []
    return { hits, corrections: whole.corrections, words: every.filter((word) => !own.stopWords.has(word)) }
  }
  const files = {}
  // The texts of a question: { body: [text], answers: [text] }, a text in blocks [1 for code, content].
  const unfold = async (number) => {
    const file = Math.floor(number / titles.perFile)
    files[file] ??= load(`texts-${file}`)
    return (await files[file]).texts[number % titles.perFile]
  }
  const ready = Promise.all([load("words"), load("titles")]).then((loaded) => {
    [words, titles] = loaded
    rules = words.rules
    prepareWords()
  })
  const vectorsReady = ready.then(async () => {
    if (!words.vectors) return
    vectors = await load("vectors")
    await prepareVectors()
    own.hasVectors = true
  })
  vectorsReady.catch((error) => console.error(error))
  return { ready, complete: vectorsReady, search, unfold, receive, analyze, divideWord, encode }
})()
