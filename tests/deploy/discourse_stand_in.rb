# Loads the plug-in as Discourse does (its file is evaluated in a plug-in object), and calls its modifier.
# Reads one JSON object per line: {"settings": {…}, "title": …, "raw": …, "visible": [ids], "ids": [ids]}; prints the ids
# that the modifier returns, and the lines that it logged.
require "json"
require "yaml"

FOLDER = ARGV.fetch(0)

module SiteSetting
  class << self
    attr_accessor :values

    def method_missing(name, *)
      values.fetch(name.to_s)
    end

    def respond_to_missing?(name, *)
      values.key?(name.to_s)
    end
  end
end
SiteSetting.values = YAML.load_file("#{FOLDER}/config/settings.yml").fetch("plugins").transform_values { |own| own.fetch("default") }

class Log
  attr_reader :lines

  def initialize
    @lines = []
  end

  def warn(line)
    @lines << line
  end
end

module Rails
  def self.logger
    @logger ||= Log.new
  end
end

# A relation of the topics that a user may see, in the order of their ids.
Candidates = Struct.new(:ids) do
  def where(id:)
    Candidates.new(ids & id)
  end

  def pluck(column)
    raise ArgumentError, column.to_s unless column == :id
    ids.sort
  end
end

class Plugin
  attr_reader :modifiers

  def initialize
    @modifiers = {}
    @later = []
  end

  def enabled_site_setting(name)
    raise "no setting #{name}" unless SiteSetting.respond_to?(name)
  end

  def after_initialize(&block)
    @later << block
  end

  def register_modifier(name, &block)
    @modifiers[name] = block
  end

  def start(path)
    instance_eval(File.read(path), path)
    @later.each { |block| instance_eval(&block) }
  end
end

plugin = Plugin.new
plugin.start("#{FOLDER}/plugin.rb")
modifier = plugin.modifiers.fetch(:similar_topic_candidate_ids)
$stdout.sync = true
$stdin.each_line do |line|
  request = JSON.parse(line)
  SiteSetting.values = SiteSetting.values.merge(request.fetch("settings"))
  logged = Rails.logger.lines.length
  arguments = { title: request["title"], raw: request["raw"], guardian: nil, candidates: Candidates.new(request.fetch("visible")) }
  ids = modifier.call(request.fetch("ids", []), arguments)
  puts JSON.generate(ids: ids, logged: Rails.logger.lines.drop(logged))
end
