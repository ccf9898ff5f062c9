// Lucene in its own process, one thread; commands as in _worker.py: build, open, search KIND SIMILARITY K [FILE].

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.misc.index.BPIndexReorderer;
import org.apache.lucene.misc.index.BPReorderingMergePolicy;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.LMJelinekMercerSimilarity;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

public class Lucene {
    static final FieldType TEXT = new FieldType();

    static {
        TEXT.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        TEXT.setTokenized(true);
        TEXT.freeze();
    }

    /** The tokens of a text that is analysed already. */
    static final class Tokens extends TokenStream {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private String[] tokens = {};
        private int next;

        Tokens of(String line) {
            tokens = line.split("\t");
            next = 0;
            return this;
        }

        @Override
        public boolean incrementToken() {
            clearAttributes();
            if (next == tokens.length) return false;
            term.append(tokens[next++]);
            return true;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path data = Path.of(arguments[0]), folder = Path.of(arguments[1]);
        boolean reordered = arguments.length > 2 && arguments[2].equals("reordered");
        IndexSearcher.setMaxClauseCount(100_000);
        IndexSearcher searcher = null;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            TopDocs[] found = {};
            long start = System.nanoTime();
            switch (words[0]) {
                case "build" -> build(data.resolve("documents.tsv"), folder, reordered);
                case "open" -> searcher = open(folder);
                default -> {
                    searcher.setSimilarity(similarity(words[2]));
                    List<String> queries = Files.readAllLines(data.resolve(words[1] + ".tsv"));
                    found = new TopDocs[queries.size()];
                    start = System.nanoTime();
                    for (int i = 0; i < found.length; i++) {
                        found[i] = search(searcher, parse(queries.get(i)), Integer.parseInt(words[3]));
                    }
                }
            }
            long nanoseconds = System.nanoTime() - start;
            if (words.length > 4) write(searcher, found, Path.of(words[4]));
            System.out.printf(Locale.ROOT, "{\"seconds\": %.9f}%n", nanoseconds / 1e9);
            System.out.flush();
        }
    }

    /** Build an index of one segment. Reordered: by recursive graph bisection, which puts similar documents together. */
    static void build(Path documents, Path folder, boolean reordered) throws IOException {
        try (Stream<Path> old = Files.exists(folder) ? Files.list(folder) : Stream.empty()) {
            for (Path file : (Iterable<Path>) old::iterator) Files.delete(file);
        }
        IndexWriterConfig settings = new IndexWriterConfig().setRAMBufferSizeMB(1024).setUseCompoundFile(false);
        if (reordered) {
            settings.setMergePolicy(new BPReorderingMergePolicy(settings.getMergePolicy(), new BPIndexReorderer()));
        }
        Document document = new Document();
        Tokens tokens = new Tokens();
        Field text = new Field("text", tokens, TEXT);
        try (Directory directory = MMapDirectory.open(folder);
                IndexWriter writer = new IndexWriter(directory, settings);
                Stream<String> lines = Files.lines(documents)) {
            long number = 0;
            for (String line : (Iterable<String>) lines::iterator) {
                tokens.of(line);
                document.clear();
                document.add(text);
                document.add(new NumericDocValuesField("number", ++number));
                writer.addDocument(document);
                if (reordered && number % 20_000 == 0) writer.flush(); // a merge of one segment reorders nothing
            }
            writer.forceMerge(1);
        }
    }

    static IndexSearcher open(Path folder) throws IOException {
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(MMapDirectory.open(folder)));
        searcher.setQueryCache(null);
        return searcher;
    }

    static Similarity similarity(String name) {
        return name.equals("bm25") ? new BM25Similarity(1.2f, .75f) : new LMJelinekMercerSimilarity(.7f);
    }

    static Query parse(String line) {
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String token : line.split("\t")) {
            query.add(new TermQuery(new Term("text", token)), BooleanClause.Occur.SHOULD);
        }
        return query.build();
    }

    /** The k best, without counting all that match, so that blocks that cannot be among them are skipped. */
    static TopDocs search(IndexSearcher searcher, Query query, int k) throws IOException {
        return searcher.search(query, new TopScoreDocCollectorManager(k, null, k));
    }

    static void write(IndexSearcher searcher, TopDocs[] found, Path file) throws IOException {
        var numbers = searcher.getIndexReader().leaves().get(0).reader();
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            for (TopDocs hits : found) {
                StringBuilder row = new StringBuilder();
                for (ScoreDoc hit : hits.scoreDocs) {
                    var values = numbers.getNumericDocValues("number");
                    values.advanceExact(hit.doc);
                    row.append(row.isEmpty() ? "" : " ").append(values.longValue()).append(':').append(hit.score);
                }
                out.println(row);
            }
        }
    }
}
