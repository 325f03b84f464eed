import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'

const DESCRIPTION = `Hands this conversation to another model from the next step on: the one of an LLM profile that the user has stored.
- Use it when the user asks for another model or profile, or when the work clearly calls for one that they have named for such work.
- Nothing that was said or done is lost. The choice lasts until somebody switches again.
- A name that does not exist changes nothing; the answer then lists the profiles there are.`

/** As long as the name of a profile can be. */
const NAME_CHARACTERS = 64
/** It stands in the log twice. */
const REASON_CHARACTERS = 1000

const input = spoken(() =>
  z.object({
    profile_name: z.string().trim().min(1).max(NAME_CHARACTERS).describe('The name of the profile.'),
    reason: z.string().max(REASON_CHARACTERS).describe('Why, in one sentence, for the people who follow.'),
  }),
)

export interface SwitchLlmParts {
  /** Of the profiles there are. */
  names(): Promise<readonly string[]>
  /** Has this conversation go on with the model of a profile. */
  switchTo(name: string): Promise<{ model: string }>
}

export const makeSwitchLlm = ({ names, switchTo }: SwitchLlmParts): Tool =>
  builtIn({
    name: 'switch_llm',
    kind: 'SwitchLLMTool',
    action: 'SwitchLLMAction',
    observation: 'SwitchLLMObservation',
    description: DESCRIPTION,
    input,
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async ({ profile_name, reason }) => {
      const observation = { kind: 'SwitchLLMObservation' as const, profile_name, reason }
      const known = await names()
      if (!known.includes(profile_name)) {
        const text = `There is no profile named ${profile_name}. Those there are: ${known.join(', ') || 'none'}`
        return { ...observation, content: said(text), is_error: true, active_model: null }
      }
      const { model } = await switchTo(profile_name)
      const text = `From the next step on ${model} thinks, by the profile ${profile_name}.`
      return { ...observation, content: said(text), is_error: false, active_model: model }
    },
  })
