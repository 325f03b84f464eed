/** Bucket bounds in seconds: from a health check to a model call. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

interface Series {
  count: number
  seconds: number
  buckets: number[]
}

/** What `/metrics` shows, in the Prometheus text format. Counting costs a map look-up a request. */
export class Metrics {
  readonly #requests = new Map<string, Series>()
  readonly #gauges = new Map<string, { help: string; read: () => number }>()
  readonly #counters = new Map<string, { help: string; value: number }>()

  request(method: string, route: string, status: number, seconds: number): void {
    const key = `method="${method}",route="${route}",status="${status}"`
    let series = this.#requests.get(key)
    if (!series) {
      series = { count: 0, seconds: 0, buckets: BUCKETS.map(() => 0) }
      this.#requests.set(key, series)
    }
    series.count += 1
    series.seconds += seconds
    for (let i = 0; i < BUCKETS.length; i++) if (seconds <= BUCKETS[i]!) series.buckets[i]! += 1
  }

  gauge(name: string, help: string, read: () => number): void {
    this.#gauges.set(name, { help, read })
  }

  /** Returns the function that counts. */
  counter(name: string, help: string): (by?: number) => void {
    const counter = { help, value: 0 }
    this.#counters.set(name, counter)
    return (by = 1) => {
      counter.value += by
    }
  }

  render(): string {
    const lines: string[] = []
    for (const [name, { help, read }] of this.#gauges)
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${read()}`)
    for (const [name, { help, value }] of this.#counters)
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`, `${name} ${value}`)
    const name = 'gantry_http_request_duration_seconds'
    lines.push(`# HELP ${name} Time to answer a request.`, `# TYPE ${name} histogram`)
    for (const [key, { count, seconds, buckets }] of this.#requests) {
      BUCKETS.forEach((bound, i) => {
        lines.push(`${name}_bucket{${key},le="${bound}"} ${buckets[i]}`)
      })
      lines.push(`${name}_bucket{${key},le="+Inf"} ${count}`, `${name}_sum{${key}} ${seconds}`)
      lines.push(`${name}_count{${key}} ${count}`)
    }
    return `${lines.join('\n')}\n`
  }
}
