import java.util.*;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.*;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Prints the scores of queries over two fields with boosts: similarity, query, document, score. */
public class TwoFields {
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
      documents.add(new String[] {title, (title + " " + text(random, random.nextInt(120))).trim()});
    }
    String[][] queries = {{"egg"}, {"boil", "egg"}, {"rice", "pot", "lid"}, {"oil", "oil", "pan"}, {"steam", "water", "egg", "salt"}};
    float[] boosts = {1f, 1.5f};
    for (String[] d : documents) System.out.println("document\t" + d[0] + "\t" + d[1]);
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
          if (!d[0].isEmpty()) document.add(new TextField("title", d[0], Field.Store.NO));
          if (!d[1].isEmpty()) document.add(new TextField("text", d[1], Field.Store.NO));
          writer.addDocument(document);
        }
      }
      IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(directory));
      searcher.setSimilarity(all[s]);
      for (int q = 0; q < queries.length; q++) {
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String word : queries[q]) {
          query.add(new BoostQuery(new TermQuery(new Term("title", word)), boosts[0]), BooleanClause.Occur.SHOULD);
          query.add(new BoostQuery(new TermQuery(new Term("text", word)), boosts[1]), BooleanClause.Occur.SHOULD);
        }
        for (ScoreDoc hit : searcher.search(query.build(), 40).scoreDocs)
          System.out.println("score\t" + names[s] + "\t" + q + "\t" + hit.doc + "\t" + hit.score);
      }
    }
  }
}
