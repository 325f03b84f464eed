import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import { type Clock, type Patience, patiently, waitBefore } from '../../src/agent/retry.ts'
import { until } from '../support/wait.ts'

const LLM = { num_retries: 3, retry_multiplier: 8, retry_min_wait: 8, retry_max_wait: 64 }
const BUSY = new ModelError('LLMServiceUnavailableError', 'Busy')

/** Time that passes at once, and is written down. */
function atOnce(waits: number[]): Clock {
  return {
    now: () => 0,
    random: () => 0.5,
    wait: async ms => {
      waits.push(ms)
    },
  }
}

async function failing(errors: unknown[], more: Partial<Patience> = {}) {
  const waits: number[] = []
  const told: [number, number, string][] = []
  let asked = 0
  const outcome = await patiently(
    async () => {
      const error = errors[asked++]
      if (error) throw error
      return 'answer'
    },
    {
      llm: LLM,
      signal: new AbortController().signal,
      clock: atOnce(waits),
      onWait: (until, attempt, error) => told.push([until.getTime(), attempt, error.code]),
      ...more,
    },
  ).catch(error => error)
  return { outcome, waits, told, asked }
}

test('An answer needs no patience', async () => {
  assert.deepEqual(await failing([]), { outcome: 'answer', waits: [], told: [], asked: 1 })
})

test('What may pass is asked again, after longer and longer waits, each of them told', async () => {
  const { outcome, waits, told, asked } = await failing([BUSY, BUSY, BUSY])
  assert.equal(outcome, 'answer')
  assert.equal(asked, 4)
  assert.deepEqual(waits, [12_000, 20_000, 36_000])
  assert.deepEqual(
    told,
    waits.map((ms, i) => [ms, i + 1, 'LLMServiceUnavailableError']),
  )
})

test('After the last try its failure is told as it is', async () => {
  const last = new ModelError('LLMTimeoutError', 'Too late')
  const { outcome, asked } = await failing([BUSY, BUSY, BUSY, last])
  assert.equal(outcome, last)
  assert.equal(asked, 4)
  assert.equal((await failing([BUSY], { llm: { ...LLM, num_retries: 0 } })).outcome, BUSY)
})

test('What does not pass by waiting is not asked again', async () => {
  for (const error of [
    new ModelError('LLMAuthenticationError', 'No'),
    new ModelError('LLMQuotaExceededError', 'No'),
    new ModelError('LLMContextWindowExceedError', 'No'),
    new ModelError('LLMBadRequestError', 'No'),
    new TypeError('bug'),
  ]) {
    const { outcome, asked } = await failing([error])
    assert.equal(outcome, error)
    assert.equal(asked, 1)
  }
})

test('A provider is obeyed when it says how long to wait, within a limit', async () => {
  const asks = (ms: number) => new ModelError('LLMRateLimitError', 'Slower', ms)
  assert.deepEqual((await failing([asks(1_234), asks(0), asks(86_400_000)])).waits, [1_234, 0, 600_000])
})

test('Waits stay between the least and the greatest, whatever chance says', () => {
  for (const attempt of [1, 2, 3, 10, 2000])
    for (const chance of [0, 0.3, 0.999]) {
      const ms = waitBefore(attempt, LLM, undefined, chance)
      assert.ok(ms >= 8_000 && ms <= 64_000, `${attempt}: ${ms}`)
    }
  assert.equal(waitBefore(5, { ...LLM, retry_min_wait: 0, retry_max_wait: 0 }, undefined, 0.9), 0)
  assert.equal(waitBefore(1, { ...LLM, retry_min_wait: 100 }, undefined, 0.9), 100_000)
})

test('A wait ends at once with the reason when it is interrupted, and nobody is asked any more', async () => {
  const stop = new AbortController()
  let asked = 0
  let waiting = false
  const patient = patiently(
    async () => {
      asked++
      throw BUSY
    },
    {
      llm: LLM,
      signal: stop.signal,
      onWait: () => {
        waiting = true
      },
    },
  ).catch(error => error)
  await until('it waits', () => waiting)
  const reason = new Error('enough')
  stop.abort(reason)
  assert.equal(await patient, reason)
  assert.equal(asked, 1)
})

test('An interruption during the question is told as such, not as a failure to be retried', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  const interrupted = patiently(
    async () => {
      stop.abort(reason)
      throw BUSY
    },
    { llm: LLM, signal: stop.signal },
  )
  await assert.rejects(interrupted, error => error === reason)
})
