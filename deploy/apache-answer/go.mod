module askalike.invalid/vector-search-askalike

go 1.25.0

require github.com/apache/answer v1.7.1
