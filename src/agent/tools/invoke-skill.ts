import * as z from 'zod'
import type { Skill } from '../../api/skills.ts'
import { isInvocable, tellSkill } from '../skills.ts'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'

const DESCRIPTION = `Loads one of the skills that the system prompt lists: tested instructions for a kind of task.
- Load a skill before you start on a task that its description fits; you know no more of it than that line.
- Give its name exactly as listed.
- Once loaded, its text stays in the conversation: there is no need to load it again.`

const input = spoken(() => z.object({ name: z.string().min(1).describe('The name of the skill, as listed.') }))

/** Skills that only people may call are not there for it. */
export function makeInvokeSkill(skills: readonly Skill[]): Tool {
  const invocable = new Map(skills.filter(isInvocable).map(skill => [skill.name, skill]))
  return builtIn({
    name: 'invoke_skill',
    kind: 'InvokeSkillTool',
    action: 'InvokeSkillAction',
    observation: 'InvokeSkillObservation',
    description: DESCRIPTION,
    input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async ({ name }) => {
      const skill = invocable.get(name.trim())
      const names = [...invocable.keys()].join(', ') || 'none'
      return {
        kind: 'InvokeSkillObservation',
        skill_name: name,
        is_error: !skill,
        content: said(skill ? tellSkill(skill) : `There is no skill named ${name}. Those there are: ${names}`),
      }
    },
  })
}
