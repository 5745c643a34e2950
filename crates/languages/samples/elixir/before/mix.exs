defmodule Median.MixProject do
  use Mix.Project

  def project do
    [app: :median, version: "0.1.0", elixir: "~> 1.14"]
  end
end
