# Writes the result of each test of RSpec, minitest or test-unit beside what they print, one JSON object a line.
#
# RSpec loads this when it starts. Otherwise every process of Ruby does, before there are gems, so it may load none.

report = Object.new

class << report
  attr_accessor :runner
  attr_reader :has_begun

  def prepare
    @here = File.dirname(File.expand_path(__FILE__))
    @root = Dir.pwd
  end

  # Tests may run tests. Those are not asked.
  def begin_run(runner, variable, option)
    @has_begun = true
    @runner = runner
    [variable, "BUNDLER_ORIG_#{variable}"].each do |name|
      kept = ENV[name].to_s.sub(option, "").strip
      kept.empty? ? ENV.delete(name) : ENV[name] = kept
    end
    open_file
  end

  def test(name, status)
    write(%({"test": {"name": #{quoted(name)}, "status": "#{status}"}}))
  end

  def failed(name)
    write(%({"failed": #{quoted(name)}}))
  end

  def unloaded(name)
    test(name, "failed")
    write(%({"unloaded": #{quoted(name)}}))
  end

  # An error of ours must not break a run: then not all tests are named.
  def guard
    yield
  rescue StandardError, ScriptError
    write("broken") rescue nil
  end

  # A path from the root of the project, the same on each machine.
  def path(file)
    own?(file) ? File.expand_path(file, @root)[(@root.size + 1)..-1] : File.basename(file)
  end

  def own?(file)
    File.expand_path(file, @root).start_with?("#{@root}/")
  end

  # The test file that was loading when this was raised.
  def loading(error)
    names = (error.is_a?(SyntaxError) ? [error.message] : []) + error.backtrace.to_a
    files = names.map { |name| name[/\A([^\n]+?):\d+/, 1] }.compact.select { |file| own?(file) && File.file?(file) }
    files.map! { |file| path(file) }
    files.reject! { |file| file =~ %r{(\A|/)(vendor|gems|\.bundle|bin)/} }
    files.reverse.find { |file| File.basename(file) =~ /test|spec/i }
  end

  private

  def open_file
    @process = Process.pid
    @file = File.open(File.join(@here, "#{@process}.jsonl"), "w")
    @file.sync = true
    @file.write(%({"runner": "#{@runner}"}\n))
  end

  def write(text)
    open_file unless @process == Process.pid
    @file.write("#{text}\n")
  end

  def quoted(text)
    text = text.to_s.encode("UTF-8", :invalid => :replace, :undef => :replace).scrub("?")
    '"' + text.gsub(/["\\\x00-\x1f]/) { |c| format("\\u%04x", c.ord) } + '"'
  end
end

report.guard { report.prepare }
# A run inside a test is none of its own.
outer = nil

if defined?(::RSpec::Core::Reporter)
  names = {}
  texts = {}
  # What RSpec calls an example without a description depends on how it ends. Here its line is its name.
  name_of = lambda do |example|
    data = example.metadata
    own = example.full_description
    if data[:description_args].to_a.empty?
      source = data[:absolute_file_path] || data[:file_path]
      line = (texts[source] ||= File.readlines(source))[data[:line_number] - 1]
      own = "#{example.example_group.metadata[:full_description]} > #{line.to_s.strip}"
    end
    "#{report.path(data[:rerun_file_path] || data[:file_path])} > #{own}"
  end
  # Examples run in any order. Of one name, they are numbered as they are defined.
  name_all = lambda do
    seen = Hash.new(0)
    RSpec.world.example_groups.flat_map(&:descendants).uniq.flat_map(&:examples).each do |example|
      name = name_of.call(example)
      times = seen[name] += 1
      names[example] = times == 1 ? name : "#{name} (#{times})"
    end
  end
  ::RSpec::Core::Reporter.send(:prepend, Module.new do
    define_method(:start) do |*arguments|
      outer ||= self
      report.guard(&name_all) if outer.equal?(self)
      super(*arguments)
    end
    { :example_passed => "passed", :example_failed => "failed", :example_pending => "skipped" }.each do |ended, status|
      define_method(ended) do |example|
        report.guard { report.test(names[example] || name_of.call(example), status) if outer.equal?(self) }
        super(example)
      end
    end
    define_method(:notify_non_example_exception) do |error, place|
      report.guard do
        next unless outer.nil? || outer.equal?(self)
        file = place.to_s[/\bloading (\S+?)\.?(?:\s|\z)/, 1]
        file ? report.unloaded(report.path(file)) : report.failed(place.to_s[/\A.*/])
      end
      super(error, place)
    end
  end)
  # A file that does not load fails the run, but does not keep the others from running. This is called in between.
  before = RSpec.world.wants_to_quit
  ::RSpec::Core::World.send(:prepend, Module.new do
    define_method(:announce_filters) do
      is_failed = respond_to?(:non_example_failure) && non_example_failure
      self.wants_to_quit = before if is_failed
      super()
    end
  end)
  report.guard { report.begin_run("rspec", "SPEC_OPTS", /--require (?:(?!--require).)*\z/m) }
elsif defined?(TracePoint)
  option = "-r#{__FILE__}"
  real_name = Module.instance_method(:name)
  # The file that defines the class of a test. A class of a specification is no constant: that of one of its tests.
  place_of = lambda do |owner, method|
    name = Object.respond_to?(:const_source_location) && real_name.bind(owner).call
    place = name ? Object.const_source_location(name).to_a : []
    file_of = lambda { |one| owner.instance_method(one).source_location.to_a.first }
    files = [place.first, file_of.call(method)].compact
    file = files.find { |one| report.own?(one) }
    file ||= owner.public_instance_methods(true).grep(/\Atest_/).lazy.map(&file_of).find { |one| one && report.own?(one) }
    report.path(file || files.first)
  end

  minitest = lambda do
    owners = Hash.new { |known, name| known[name] = Minitest::Runnable.runnables.select { |one| one.name == name } }
    # The number in the name of a test of a specification changes when one is added above it.
    number = /\Atest_\d{4,}_/
    title_of = lambda do |owner, own|
      next own unless own =~ number
      same = owner.public_instance_methods(true).map(&:to_s).select do |other|
        other =~ number && other.sub(number, "") == own.sub(number, "")
      end
      nth = same.sort.index(own).to_i
      nth.zero? ? own.sub(number, "") : "#{own.sub(number, "")} (#{nth + 1})"
    end
    ::Minitest::CompositeReporter.send(:prepend, Module.new do
      define_method(:start) do
        report.guard { report.begin_run("minitest", "RUBYOPT", option) } unless outer
        outer ||= self
        super()
      end
      define_method(:record) do |result|
        report.guard do
          next unless outer.equal?(self)
          name = result.respond_to?(:klass) ? result.klass : result.class.name
          owner = owners[name].find { |one| one.method_defined?(result.name) }
          status = result.skipped? ? "skipped" : result.passed? ? "passed" : "failed"
          report.test("#{place_of.call(owner, result.name)} > #{name} > #{title_of.call(owner, result.name)}", status)
        end
        super(result)
      end
    end)
  end

  test_unit = lambda do
    faults = Hash.new { |known, name| known[name] = [] }
    ::Test::Unit::UI::TestRunnerMediator.send(:prepend, Module.new do
      define_method(:notify_listeners) do |channel, *arguments|
        report.guard do
          outer ||= self
          next unless outer.equal?(self)
          what = arguments.first
          case channel
          when Test::Unit::UI::TestRunnerMediator::STARTED
            report.begin_run("test-unit", "RUBYOPT", option)
          when Test::Unit::TestResult::FAULT
            faults[what.test_name] << what
            is_red = what.is_a?(Test::Unit::Failure) || what.is_a?(Test::Unit::Error)
            # What starts or ends a class is no test.
            report.failed(what.test_name) if is_red && what.test_name !~ /\)\z/
          when Test::Unit::TestCase::FINISHED_OBJECT
            kinds = faults.delete(what.name).to_a.map { |fault| fault.class.name[/\w+\z/] } - ["Notification"]
            status = kinds.empty? ? "passed" : (kinds & %w[Failure Error]).empty? ? "skipped" : "failed"
            report.test("#{place_of.call(what.class, what.method_name)} > #{what.class.name} > #{what.local_name}", status)
          end
        end
        super(channel, *arguments)
      end
      private :notify_listeners
    end)
  end

  frameworks = { "Minitest::CompositeReporter" => minitest, "Test::Unit::UI::TestRunnerMediator" => test_unit }
  known = false
  trace = TracePoint.new(:end) do |point|
    name = real_name.bind(point.self).call
    hook = frameworks.delete(name)
    next unless hook
    known = true
    report.guard(&hook)
    trace.disable if frameworks.empty?
  end
  trace.enable
  # Runs last. A framework that never began was stopped by what it loaded. Rake exits because of that.
  at_exit do
    error = $!
    own = error.is_a?(SystemExit) ? error.cause : error
    is_new = own.is_a?(NameError) || own.is_a?(ScriptError)
    if !report.has_begun && (is_new || known && error.is_a?(StandardError))
      report.guard do
        file = report.loading(own)
        is_test_unit = defined?(::Test::Unit::TestCase) && !defined?(::Minitest::Runnable)
        report.runner = is_test_unit ? "test-unit" : "minitest"
        report.unloaded(file) if file
      end
    end
  end
end
