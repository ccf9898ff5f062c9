# frozen_string_literal: true

# name: askalike
# about: Similar topics in the composer, found by an askalike service
# version: 1.0
# authors: The askalike developers

enabled_site_setting :askalike_enabled

require "json"
require "net/http"
require "timeout"

# Asks the service for topics similar to a new one. If it does not answer, Discourse shows its own.
module ::Askalike
  TIMEOUT_S = 1
  # How long the service is left alone after an error, so that nobody's composer waits for it again and again.
  PAUSE_S = 30
  # More than Discourse shows: a user may not see some of them.
  RESULTS = 20

  class << self
    # Returns the ids of similar topics among the candidates, a relation of those that the user may see; best first.
    def topic_ids(title, raw, candidates)
      return [] if candidates.nil? || title.to_s.strip.empty? || silent?
      found = Timeout.timeout(TIMEOUT_S) { search(title, raw) }
      return [] if found.empty?
      found & candidates.where(id: found).pluck(:id)
    rescue StandardError => error
      @silent_until = now + PAUSE_S
      Rails.logger.warn("askalike: #{error.class}: #{error.message}")
      []
    end

    private

    def silent?
      @silent_until && now < @silent_until
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def search(title, raw)
      uri = URI.parse("#{SiteSetting.askalike_url.chomp("/")}/similar")
      request = Net::HTTP::Post.new(uri, "Content-Type" => "application/json")
      key = SiteSetting.askalike_key
      request["Authorization"] = "Bearer #{key}" unless key.empty?
      request.body = JSON.generate(title: title.to_s[0, 300], body: raw.to_s[0, 10_000], k: RESULTS, prefix: true)
      limits = { open_timeout: TIMEOUT_S, read_timeout: TIMEOUT_S, write_timeout: TIMEOUT_S }
      response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", **limits) { |http| http.request(request) }
      raise "the service answered #{response.code}" unless response.is_a?(Net::HTTPSuccess)
      JSON.parse(response.body).fetch("results").filter_map { |result| topic_id(result) }
    end

    # The archive has the topics' numbers as ids, or their addresses (/t/SLUG/ID).
    def topic_id(result)
      number = result["id"].to_s[/\A\d+\z/] || result["url"].to_s[%r{/t/(?:[^/]+/)?(\d+)(?:[/?#]|\z)}, 1]
      number&.to_i
    end
  end
end

after_initialize do
  register_modifier(:similar_topic_candidate_ids) do |ids, args|
    (::Askalike.topic_ids(args[:title], args[:raw], args[:candidates]) + ids.to_a).uniq
  end
end
