import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { now, parseTime } from '../src/lib/time.ts'
import { AgentRig, type Talk } from '../test/support/agent.ts'
import { call, finish, type Script, type Seen } from '../test/support/model-server.ts'
import { tempFolder } from '../test/support/server.ts'
import { quantile } from './load.ts'

export type Report = (what: string, figure: string, goal?: string, met?: boolean) => void

const ms = (n: number) => `${n.toFixed(2)} ms`
const QUIET = { args: ['--log-level', 'warn'] }
const think = () => call('think', { thought: 'what comes next', summary: 'thinks' })

/** A step, or the summary of many. */
const isStep = ({ body }: Seen): boolean => (body.tools ?? []).length > 0

/** What agents cost beside what their models take: these answer at once. */
export async function agents(report: Report): Promise<void> {
  await steps(report)
  await firstAction(report)
  await manyAtOnce(report)
  await idleMemory(report)
}

/** The time from one question to the next, when the answer is there at once, and what of it is the server's own. */
async function steps(report: Report): Promise<void> {
  const steps = 5_050
  const asked: Seen['times'][] = []
  const script: Script = seen => {
    if (!isStep(seen)) return { text: 'A summary.' }
    asked.push(seen.times)
    return asked.length < steps ? think() : finish('done')
  }
  await using rig = await AgentRig.start(script, { ...QUIET, keep: 1 })
  const llm = rig.model.llm()
  const condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llm, usage_id: 'condenser' } }
  const agent = { llm, tools: [], condenser }
  // Once before, so that what is compared is not a cold program with a warm one.
  const warm = await rig.begin({ say: 'go', agent, max_iterations: 300, stuck_detection: false })
  await ended(warm)
  asked.length = 0
  const talk = await rig.begin({ say: 'go', agent, max_iterations: steps + 1, stuck_detection: false })
  while ((await talk.status()) === 'running') await new Promise(resolve => setTimeout(resolve, 200))
  const late = asked.splice(0).slice(-600)
  // Right after, and of several: a machine that others use too is not the same a minute later.
  const early: Seen['times'][][] = []
  for (let i = 0; i < 6; i++) {
    await ended(await rig.begin({ say: 'go', agent, max_iterations: 90, stuck_detection: false }))
    early.push(asked.splice(0).slice(10))
  }
  const p50 = (since: 'arrived' | 'answered', ...runs: Seen['times'][][]) =>
    quantile(
      runs.flatMap(times => times.slice(1).map(({ arrived }, i) => arrived - times[i]![since]!)),
      0.5,
    )
  report('step 50, p50', ms(p50('arrived', ...early)))
  report('step 5,000, p50', ms(p50('arrived', late)))
  const [first, last] = [p50('answered', ...early), p50('answered', late)]
  report('  without the model, step 50', ms(first), '< 3 ms', first < 3)
  report('  without the model, step 5,000', ms(last), '< 1.2 × step 50', last < 1.2 * first)
}

/** From the order to the first result, when the sandbox runs. The log tells when it was there: whoever kept asking would be in the way. */
async function firstAction(report: Report): Promise<void> {
  const script: Script = seen =>
    seen.messages.some(({ role }) => role === 'tool') ? finish('done') : call('terminal', { command: 'true' })
  await using rig = await AgentRig.start(script, QUIET)
  const times: number[] = []
  for (let i = 0; i < 20; i++) {
    const begun = now()
    const talk = await rig.begin({ say: 'go' })
    await ended(talk)
    const result = (await talk.events()).find(({ kind }) => kind === 'ObservationEvent')
    times.push((parseTime(result!.timestamp)! - begun) / 1000)
  }
  const p50 = quantile(times.slice(2), 0.5)
  report('order to first action executed, p50', ms(p50), '< 60 ms', p50 < 60)
}

async function manyAtOnce(report: Report): Promise<void> {
  const running = 100
  const steps = 50
  const script: Script = seen => {
    const done = seen.messages.filter(({ role }) => role === 'tool').length
    return done < steps ? think() : finish('done')
  }
  await using rig = await AgentRig.start(script, QUIET)
  const begun = performance.now()
  const talks = await Promise.all(
    Array.from({ length: running }, () => rig.begin({ say: 'go', stuck_detection: false })),
  )
  let going = true
  const times: number[] = []
  const probing = (async () => {
    while (going) {
      const asked = performance.now()
      await (await fetch(`${rig.server.url}/health`)).text()
      times.push(performance.now() - asked)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })()
  for (const talk of talks) await ended(talk)
  const seconds = (performance.now() - begun) / 1000
  going = false
  await probing
  const p99 = quantile(times, 0.99)
  report(`${running} conversations at once`, `${Math.round((running * steps) / seconds)} steps/s`)
  report('  /health meanwhile, p99', ms(p99), '< 50 ms', p99 < 50)
}

/** What is left of each after a collection of garbage: a snapshot of the heap makes one, and tells. */
async function idleMemory(report: Report): Promise<void> {
  const loaded = 300
  const folder = await tempFolder()
  const env = { NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${folder}` }
  await using rig = await AgentRig.start(() => finish('done'), { ...QUIET, env })
  for (let i = 0; i < 50; i++) await ended(await rig.begin({ say: 'go' }))
  const before = await heap(rig.server.pid, folder)
  for (let i = 0; i < loaded; i++) await ended(await rig.begin({ say: 'go' }))
  const each = (await heap(rig.server.pid, folder)) / loaded - before / loaded
  await rm(folder, { recursive: true })
  report('an idle loaded conversation', `${Math.round(each / 1024)} KB`, '< 100 KB', each < 100 * 1024)
}

/** In bytes. */
async function heap(pid: number, folder: string): Promise<number> {
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, 500))
    const [name] = await readdir(folder)
    try {
      const { snapshot, nodes } = JSON.parse(await readFile(join(folder, name ?? ''), 'utf8'))
      await rm(join(folder, name ?? ''))
      const fields: string[] = snapshot.meta.node_fields
      const size = fields.indexOf('self_size')
      let sum = 0
      for (let i = size; i < nodes.length; i += fields.length) sum += nodes[i]
      return sum
    } catch {
      // Still being written.
    }
  }
}

async function ended(talk: Talk): Promise<void> {
  while ((await talk.status()) === 'running') await new Promise(resolve => setTimeout(resolve, 5))
}
