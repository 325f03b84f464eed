import * as z from 'zod'
import { objections, USABLE_TOOLS } from '../agent/toolbox.ts'
import { AnyAgent, agentFromSettings, OpenHandsAgentSettings } from '../api/agent.ts'
import { strings, textOrNull, uuid } from '../api/common.ts'
import { LocalWorkspace, StartConversationRequest } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import { SecurityAnalyzer } from '../api/security.ts'
import { withoutSecrets } from '../policy/secrets.ts'
import { readAs } from './imported-files.ts'

/** Whoever sent it is told what is wrong with it by this name. */
const ABOUT = 'What it says of the conversation'

/** What is taken of what a server writes about a conversation. */
const Imported = z.object({
  id: uuid(),
  title: textOrNull,
  agent: AnyAgent.optional(),
  /** All that app servers tell of the agent. */
  llm_model: z.string().optional(),
  workspace: LocalWorkspace.pick({ working_dir: true }).optional(),
  leaf_event_id: textOrNull,
  activated_knowledge_skills: strings,
})

/** Of the rest, what an order has under the same name. */
const ORDERED = [
  'confirmation_policy',
  'security_analyzer',
  'max_iterations',
  'stuck_detection',
  'client_tools',
  'tags',
]

export interface Description {
  id: string
  title: string | null
  agent: AnyAgent
  request: StartConversationRequest
  /** Whether it says what is to be asked for. */
  hasPolicy: boolean
  /** HEAD. */
  leaf: string | null
  activated_knowledge_skills: string[]
}

/**
 * What a conversation was elsewhere, as the order of one here: its agent without any secret, and without what would run by itself
 * (hooks, MCP servers), for nobody here has seen it.
 */
export function describedBy(about: Record<string, unknown>, workingDir: string): Description {
  const { agent: given, llm_model, workspace, leaf_event_id, ...own } = readAs(Imported, about, ABOUT)
  const agent = given ? usable(given) : agentFor(llm_model)
  const reasons = objections(agent)
  if (reasons.length > 0) throw fault('invalid_request', `This cannot be done here: ${reasons.join('; ')}`)
  const ordered = ORDERED.flatMap(name => (about[name] == null ? [] : [[name, about[name]]]))
  const request = readAs(
    StartConversationRequest,
    {
      ...Object.fromEntries(ordered),
      workspace: { working_dir: workspace?.working_dir ?? workingDir },
      agent,
    },
    ABOUT,
  )
  const { security_analyzer: analyzer } = request
  return {
    ...own,
    agent,
    request: { ...request, security_analyzer: analyzer && withoutSecrets(SecurityAnalyzer, analyzer) },
    hasPolicy: about.confirmation_policy != null,
    leaf: leaf_event_id,
  }
}

/** Tools that are not here are left out: a log is worth having without them. */
function usable(given: AnyAgent): AnyAgent {
  const agent = withoutSecrets(AnyAgent, given)
  const isThere = (name: string) =>
    objections({ ...agent, tools: [], critic: null, include_default_tools: [name] }).length === 0
  const context = agent.agent_context
  return {
    ...agent,
    tools: agent.tools.filter(({ name }) => USABLE_TOOLS.includes(name)),
    include_default_tools: agent.include_default_tools.filter(isThere),
    mcp_config: {},
    critic: null,
    agent_context: context && {
      ...context,
      skills: context.skills.map(skill => ({ ...skill, mcp_tools: null })),
      secrets: null,
    },
  }
}

function agentFor(model: string | undefined): AnyAgent {
  if (model === undefined) throw fault('invalid_request', `${ABOUT}: agent: it is missing`)
  return agentFromSettings(OpenHandsAgentSettings.parse({ llm: { model } }))
}
