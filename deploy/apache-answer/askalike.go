// Package askalike lets Apache Answer search semantically with an askalike service, which ranks by words and vectors.
// The service needs no embeddings from elsewhere: texts go to it as they are.
package askalike

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apache/answer/plugin"
)

const (
	slugName     = "askalike_vector_search"
	collection   = "answer"
	pageSize     = 100
	maxTextBytes = 2_000 // of a query, as in the service
	timeout      = 10 * time.Second
)

// Settings of the plug-in, as Answer stores them.
type Settings struct {
	URL string `json:"url"` // of the archive, such as http://127.0.0.1:8080/v1/desk
	Key string `json:"key"` // of scope write; empty if the service requires none
}

// VectorSearch implements plugin.VectorSearch and plugin.Config.
type VectorSearch struct {
	mutex    sync.Mutex
	settings Settings
	syncing  bool
	client   http.Client
}

func init() {
	plugin.Register(New())
}

// New returns a plug-in without settings.
func New() *VectorSearch {
	return &VectorSearch{client: http.Client{Timeout: timeout}}
}

func text(value string) plugin.Translator {
	return plugin.Translator{Fn: func(*plugin.GinContext) string { return value }}
}

// Info describes the plug-in.
func (v *VectorSearch) Info() plugin.Info {
	return plugin.Info{
		Name: text("askalike"), SlugName: slugName, Description: text("Semantic search with an askalike service"),
		Author: "The askalike developers", Version: "1.0.0",
	}
}

// Description describes the search engine.
func (v *VectorSearch) Description() plugin.VectorSearchDesc {
	return plugin.VectorSearchDesc{}
}

// ConfigFields returns the fields of the settings' form.
func (v *VectorSearch) ConfigFields() []plugin.ConfigField {
	settings := v.current()
	return []plugin.ConfigField{
		{
			Name: "url", Type: plugin.ConfigTypeInput, Title: text("Archive"), Required: true, Value: settings.URL,
			Description: text("Address of the archive in the service, e.g. http://127.0.0.1:8080/v1/desk"),
			UIOptions:   plugin.ConfigFieldUIOptions{InputType: plugin.InputTypeUrl},
		},
		{
			Name: "key", Type: plugin.ConfigTypeInput, Title: text("Key"), Value: settings.Key,
			Description: text("Key of scope write, if the service requires keys"),
			UIOptions:   plugin.ConfigFieldUIOptions{InputType: plugin.InputTypePassword},
		},
	}
}

// ConfigReceiver takes the settings as JSON. An address that is not one of http or https is an error.
func (v *VectorSearch) ConfigReceiver(config []byte) error {
	var settings Settings
	if err := json.Unmarshal(config, &settings); err != nil {
		return fmt.Errorf("askalike: settings: %w", err)
	}
	address, err := url.Parse(settings.URL)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" {
		return fmt.Errorf("askalike: url %q: expected an address such as http://127.0.0.1:8080/v1/desk", settings.URL)
	}
	settings.URL = strings.TrimRight(settings.URL, "/")
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.settings = settings
	return nil
}

// RegisterSyncer sends all questions and answers to the service, in the background. One run at a time.
func (v *VectorSearch) RegisterSyncer(_ context.Context, syncer plugin.VectorSearchSyncer) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.settings.URL == "" || v.syncing {
		return
	}
	v.syncing = true
	go func() {
		err := v.sync(context.Background(), syncer)
		if err != nil {
			slog.Error("askalike: not all questions were sent", "error", err)
		}
		v.mutex.Lock()
		defer v.mutex.Unlock()
		v.syncing = false
	}()
}

func (v *VectorSearch) sync(ctx context.Context, syncer plugin.VectorSearchSyncer) error {
	type page func(ctx context.Context, page, size int) ([]*plugin.VectorSearchContent, error)
	for _, read := range []page{syncer.GetQuestionsPage, syncer.GetAnswersPage} {
		for number := 1; ; number++ {
			contents, err := read(ctx, number, pageSize)
			if err != nil {
				return err
			}
			if len(contents) == 0 {
				break
			}
			if err := v.send(ctx, contents); err != nil {
				return err
			}
		}
	}
	return nil
}

// UpdateContent adds or replaces a question or an answer.
func (v *VectorSearch) UpdateContent(ctx context.Context, content *plugin.VectorSearchContent) error {
	return v.send(ctx, []*plugin.VectorSearchContent{content})
}

// DeleteContent removes a question or an answer.
func (v *VectorSearch) DeleteContent(ctx context.Context, objectID string) error {
	return v.post(ctx, "delete", map[string]any{"ids": []string{objectID}}, nil)
}

// SearchSimilar returns the most similar questions, best first. A score is a probability if the archive is calibrated.
func (v *VectorSearch) SearchSimilar(ctx context.Context, query string, topK int) ([]plugin.VectorSearchResult, error) {
	if topK < 1 || strings.TrimSpace(query) == "" {
		return nil, nil
	}
	var found struct {
		IDs       [][]string   `json:"ids"`
		Distances [][]float64  `json:"distances"`
		Metadatas [][]metadata `json:"metadatas"`
	}
	body := map[string]any{"query_embeddings": [][]int{encode(query)}, "n_results": min(topK, pageSize)}
	if err := v.post(ctx, "query", body, &found); err != nil {
		return nil, err
	}
	if len(found.IDs) != 1 || len(found.Distances) != 1 || len(found.Metadatas) != 1 ||
		len(found.IDs[0]) != len(found.Distances[0]) || len(found.IDs[0]) != len(found.Metadatas[0]) {
		return nil, errors.New("askalike: the service's answer has another shape than its ids, distances and metadatas")
	}
	results := make([]plugin.VectorSearchResult, 0, len(found.IDs[0]))
	for n, id := range found.IDs[0] {
		own := found.Metadatas[0][n]
		results = append(results, plugin.VectorSearchResult{
			ObjectID: id, ObjectType: own.ObjectType, Metadata: own.Metadata, Score: 1 - found.Distances[0][n]/2,
		})
	}
	return results, nil
}

type metadata struct {
	ObjectType string `json:"object_type"`
	Title      string `json:"title"`
	Metadata   string `json:"metadata"`
}

// encode returns the bytes of a text: the service reads the text from its "embedding".
func encode(query string) []int {
	data := []byte(query)
	numbers := make([]int, min(len(data), maxTextBytes))
	for n := range numbers {
		numbers[n] = int(data[n])
	}
	return numbers
}

func (v *VectorSearch) send(ctx context.Context, contents []*plugin.VectorSearchContent) error {
	var ids, texts []string
	var metadatas []metadata
	for _, content := range contents {
		ids, texts = append(ids, content.ObjectID), append(texts, content.Content)
		metadatas = append(metadatas, metadata{content.ObjectType, content.Title, content.Metadata})
	}
	return v.post(ctx, "upsert", map[string]any{"ids": ids, "metadatas": metadatas, "documents": texts}, nil)
}

func (v *VectorSearch) current() Settings {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.settings
}

// post calls the service, and reads its answer into found, unless that is nil.
func (v *VectorSearch) post(ctx context.Context, action string, body, found any) error {
	settings := v.current()
	if settings.URL == "" {
		return errors.New("askalike: the plug-in has no address of an archive yet")
	}
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("%s/apache-answer/api/v1/collections/%s/%s", settings.URL, collection, action)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if settings.Key != "" {
		request.Header.Set("Authorization", "Bearer "+settings.Key)
	}
	response, err := v.client.Do(request)
	if err != nil {
		return fmt.Errorf("askalike: %s: %w", action, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return fmt.Errorf("askalike: %s: the service answered %d: %s", action, response.StatusCode, problem)
	}
	if found == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(found)
}
