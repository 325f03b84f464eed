import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Hands, Misunderstood } from '../../src/agent/tool.ts'
import { makeSwitchLlm } from '../../src/agent/tools/switch-llm.ts'
import { Action } from '../../src/api/actions.ts'
import { Observation } from '../../src/api/observations.ts'

describe('switch_llm', () => {
  const bench = (names: string[]) => {
    const switched: string[] = []
    const tool = makeSwitchLlm({
      names: async () => names,
      switchTo: async name => {
        switched.push(name)
        return { model: `openai/${name}` }
      },
    })
    const run = async (args: Record<string, unknown>) => {
      const action = Action.parse(tool.understand(args))
      return Observation.parse(await tool.run(action, {} as Hands))
    }
    return { tool, switched, run }
  }
  const why = 'The user asked for it.'

  test('goes on with the model of a profile, and says which', async () => {
    const { tool, switched, run } = bench(['fast', 'slow'])
    const observation = await run({ profile_name: ' slow ', reason: why })
    const { content, ...rest } = observation
    assert.deepEqual(rest, {
      kind: 'SwitchLLMObservation',
      is_error: false,
      profile_name: 'slow',
      reason: why,
      active_model: 'openai/slow',
    })
    assert.match(JSON.stringify(content), /openai\/slow/)
    assert.deepEqual(switched, ['slow'])
    assert.deepEqual([tool.name, tool.definition?.kind], ['switch_llm', 'SwitchLLMTool'])
  })

  test('names the profiles there are when asked for another, and changes nothing', async () => {
    const { switched, run } = bench(['fast', 'slow'])
    for (const profile_name of ['nope', 'FAST', 'constructor']) {
      const observation = await run({ profile_name, reason: why })
      assert.equal(observation.is_error, true, profile_name)
      assert.match(JSON.stringify(observation.content), /fast, slow"/)
    }
    assert.match(JSON.stringify((await bench([]).run({ profile_name: 'a', reason: why })).content), /none/)
    assert.deepEqual(switched, [])
  })

  test('does not take what is no name, or no end of reasons', () => {
    const { tool } = bench(['a'])
    for (const args of [{}, { profile_name: ' ', reason: why }, { profile_name: 'a', reason: 'x'.repeat(10_000) }])
      assert.throws(() => tool.understand(args), Misunderstood)
  })
})
