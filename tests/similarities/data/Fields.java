import java.util.*;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.*;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Prints the scores of queries over three fields with boosts: similarity, query, document, score. */
public class Fields {
  static final String[] FIELDS = {"title", "text", "answer"};
  static final float[] BOOSTS = {1f, 1.5f, 0.5f};

  static final String[] WORDS = "egg boil water salt rice pot lid steam pan oil".split(" ");

  static String text(Random random, int length) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < length; i++) out.append(WORDS[(int) (WORDS.length * Math.pow(random.nextDouble(), 2))]).append(' ');
    return out.toString().trim();
  }

  public static void main(String[] args) throws Exception {
    Random random = new Random(43);
    List<String[]> documents = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      String title = text(random, i % 10 == 9 ? 0 : 1 + random.nextInt(8));
      String whole = (title + " " + text(random, random.nextInt(120))).trim();
      documents.add(new String[] {title, whole, text(random, i % 3 == 0 ? 0 : random.nextInt(90))});
    }
    String[][] queries = {{"egg"}, {"boil", "egg"}, {"rice", "pot", "lid"}, {"oil", "oil", "pan"}, {"steam", "water", "egg", "salt"}};
    for (String[] d : documents) System.out.println("document\t" + String.join("\t", d));
    for (String[] q : queries) System.out.println("query\t" + String.join(" ", q));
    Similarity[] all = {
      new ClassicSimilarity(), new BM25Similarity(1.2f, 0.75f), new IBSimilarity(new DistributionLL(), new LambdaDF(), new NormalizationH2()),
      new DFRSimilarity(new BasicModelG(), new AfterEffectL(), new NormalizationH2()), new LMDirichletSimilarity(2000f), new LMJelinekMercerSimilarity(0.7f)};
    String[] names = {"tfidf", "bm25", "ib", "dfr", "lm_dirichlet", "lm_jelinek_mercer"};
    for (int s = 0; s < all.length; s++) {
      ByteBuffersDirectory directory = new ByteBuffersDirectory();
      IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer()).setSimilarity(all[s]);
      try (IndexWriter writer = new IndexWriter(directory, config)) {
        for (String[] d : documents) {
          Document document = new Document();
          for (int f = 0; f < 3; f++) if (!d[f].isEmpty()) document.add(new TextField(FIELDS[f], d[f], Field.Store.NO));
          writer.addDocument(document);
        }
      }
      IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(directory));
      searcher.setSimilarity(all[s]);
      for (int q = 0; q < queries.length; q++) {
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String word : queries[q])
          for (int f = 0; f < 3; f++)
            query.add(new BoostQuery(new TermQuery(new Term(FIELDS[f], word)), BOOSTS[f]), BooleanClause.Occur.SHOULD);
        for (ScoreDoc hit : searcher.search(query.build(), 40).scoreDocs)
          System.out.println("score\t" + names[s] + "\t" + q + "\t" + hit.doc + "\t" + hit.score);
      }
    }
  }
}
