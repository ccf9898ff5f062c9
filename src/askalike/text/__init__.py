"""From what people typed to terms: cleaning, language, tokens, sentences, snippets."""
