package askalike

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/answer/plugin"
)

var (
	_ plugin.VectorSearch = New()
	_ plugin.Config       = New()
)

// configured returns a plug-in that uses the service at ASKALIKE_URL.
func configured(t *testing.T) *VectorSearch {
	t.Helper()
	address := os.Getenv("ASKALIKE_URL")
	if address == "" {
		t.Skip("needs a service: ASKALIKE_URL=http://127.0.0.1:8080/v1/NAME")
	}
	v := New()
	settings, _ := json.Marshal(Settings{URL: address + "/", Key: os.Getenv("ASKALIKE_KEY")})
	if err := v.ConfigReceiver(settings); err != nil {
		t.Fatal(err)
	}
	return v
}

// forum is a syncer with one page of questions and one of answers.
type forum struct{}

func (forum) GetQuestionsPage(_ context.Context, page, _ int) ([]*plugin.VectorSearchContent, error) {
	if page > 1 {
		return nil, nil
	}
	return []*plugin.VectorSearchContent{
		{
			ObjectID: "10010000000000001", ObjectType: "question", Title: "How do I borrow a telescope?",
			Content:  "Question: How do I borrow a telescope?\n\nFor one night.\n\nAnswer: At the desk, with your card.",
			Metadata: `{"question_id":"10010000000000001"}`,
		},
	}, nil
}

func (forum) GetAnswersPage(_ context.Context, page, _ int) ([]*plugin.VectorSearchContent, error) {
	if page > 1 {
		return nil, nil
	}
	return []*plugin.VectorSearchContent{
		{
			ObjectID: "10020000000000001", ObjectType: "answer", Title: "How do I borrow a telescope?",
			Content:  "Question: How do I borrow a telescope?\n\nAnswer: At the desk, with your card.",
			Metadata: `{"question_id":"10010000000000001","answer_id":"10020000000000001"}`,
		},
	}, nil
}

// search repeats a search until a condition holds: the service indexes what it receives within a second or two.
func search(t *testing.T, v *VectorSearch, query string, holds func([]plugin.VectorSearchResult) bool) []plugin.VectorSearchResult {
	t.Helper()
	for range 100 {
		found, err := v.SearchSimilar(context.Background(), query, 3)
		if err != nil {
			t.Fatal(err)
		}
		if holds(found) {
			return found
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%q: the expected results did not come", query)
	return nil
}

func TestWhatIsSyncedIsFoundUntilItIsDeleted(t *testing.T) {
	v := configured(t)
	v.RegisterSyncer(context.Background(), forum{})
	isFirst := func(found []plugin.VectorSearchResult) bool {
		return len(found) > 0 && found[0].ObjectID == "10010000000000001" && strings.Contains(found[0].Metadata, "10020000000000001")
	}
	found := search(t, v, "lend me a telescope", isFirst)
	if found[0].ObjectType != "question" || found[0].Score <= 0 || found[0].Score > 1 {
		t.Errorf("expected a question with a score from 0 to 1, got %+v", found[0])
	}
	if len(found) > 1 && found[1].Score > found[0].Score {
		t.Errorf("expected the best first, got %+v", found)
	}
	if err := v.DeleteContent(context.Background(), "10010000000000001"); err != nil {
		t.Fatal(err)
	}
	search(t, v, "lend me a telescope", func(found []plugin.VectorSearchResult) bool { return !isFirst(found) })
}

func TestAnUpdateReplacesTheQuestion(t *testing.T) {
	v := configured(t)
	for _, title := range []string{"Where is the xylophone?", "Where is the harpsichord?"} {
		content := &plugin.VectorSearchContent{
			ObjectID: "77", ObjectType: "question", Title: title, Content: "Question: " + title, Metadata: `{"question_id":"77"}`,
		}
		if err := v.UpdateContent(context.Background(), content); err != nil {
			t.Fatal(err)
		}
	}
	search(t, v, "harpsichord", func(found []plugin.VectorSearchResult) bool { return len(found) > 0 && found[0].ObjectID == "77" })
}

func TestAnEmptyQueryFindsNothing(t *testing.T) {
	if found, err := New().SearchSimilar(context.Background(), "  ", 3); err != nil || found != nil {
		t.Errorf("expected nothing, got %v, %v", found, err)
	}
}

func TestErrorsNameTheProblem(t *testing.T) {
	v := New()
	if _, err := v.SearchSimilar(context.Background(), "card", 3); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("expected an error without settings, got %v", err)
	}
	for _, address := range []string{"", "ftp://desk", "127.0.0.1:8080"} {
		if err := v.ConfigReceiver([]byte(fmt.Sprintf(`{"url":%q}`, address))); err == nil {
			t.Errorf("%q: expected an error", address)
		}
	}
	if err := v.ConfigReceiver([]byte(`{"url":"http://127.0.0.1:9/v1/desk"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.SearchSimilar(context.Background(), "card", 3); err == nil || !strings.Contains(err.Error(), "query") {
		t.Errorf("expected an error of the connection, got %v", err)
	}
}
