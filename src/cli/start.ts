import { resolve } from 'node:path'
import { createClient } from '../api/client.ts'
import type { ConversationInfo } from '../api/conversations.ts'
import type { SandboxInfo } from '../api/sandboxes.ts'
import { amount } from './command.ts'
import type { Server } from './connect.ts'
import { Failure } from './io.ts'
import { findModel, requireModel, useModel } from './model.ts'

/** As options give it. */
export interface Start {
  model?: string
  workspace?: string
  sandbox?: string
  confirm?: string
  budget?: string
  'max-steps'?: string
}

/** Asks for what the agent itself or our rails find risky, and for what nobody can judge. */
const ANALYZER = {
  kind: 'EnsembleSecurityAnalyzer' as const,
  analyzers: [{ kind: 'LLMSecurityAnalyzer' as const }, { kind: 'PolicyRailSecurityAnalyzer' as const }],
}
const RISKY = { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true } as const
const POLICIES: Record<string, { kind: 'AlwaysConfirm' } | { kind: 'NeverConfirm' } | typeof RISKY> = {
  always: { kind: 'AlwaysConfirm' },
  risky: RISKY,
  never: { kind: 'NeverConfirm' },
}

/** Where the default sandbox has agents work unless they are told. */
const FOLDER = '/workspace/project'
const SANDBOX_POLL_MS = 100

/** Starts a conversation with the agent that the settings describe. It does nothing before it is told to. */
export async function startConversation(server: Server, start: Start): Promise<ConversationInfo> {
  const { client, baseUrl, key } = server
  const max_budget_per_task = amount('budget', start.budget)
  const max_iterations = amount('max-steps', start['max-steps'], { whole: true })
  const use = start.model === undefined ? await requireModel(client) : await findModel(client, start.model)
  const { active_agent_profile_id: agent_profile_id } = await client.listAgentProfiles()
  const sandbox = start.sandbox === undefined ? undefined : await sandboxFor(server, start.sandbox)
  const place = sandbox
    ? createClient({
        baseUrl: `${baseUrl}/sandboxes/${encodeURIComponent(sandbox.id)}`,
        ...(key !== undefined && { key }),
      })
    : client
  const info = await place.startConversation({
    body: {
      agent_profile_id,
      workspace: { working_dir: start.workspace ? resolve(start.workspace) : (sandbox?.folder ?? FOLDER) },
      confirmation_policy: POLICIES[start.confirm ?? 'risky']!,
      security_analyzer: ANALYZER,
      ...(max_budget_per_task !== undefined && { max_budget_per_task }),
      ...(max_iterations !== undefined && { max_iterations }),
    },
  })
  await use?.(info.id)
  return info
}

/** Changes what can be changed of a conversation that is gone on with. */
export async function adjustConversation({ client }: Server, conversation_id: string, start: Start): Promise<void> {
  const params = { conversation_id }
  const max_budget_per_task = amount('budget', start.budget)
  if (max_budget_per_task !== undefined) await client.updateConversation({ params, body: { max_budget_per_task } })
  if (start.confirm !== undefined)
    await client.setConfirmationPolicy({ params, body: { policy: POLICIES[start.confirm]! } })
  if (start.model !== undefined) await useModel(client, conversation_id, start.model)
}

/** The sandbox of this id, or a new one by the template of this name. */
async function sandboxFor({ client }: Server, name: string): Promise<{ id: string; folder: string }> {
  const { items: specs } = await client.searchSandboxSpecs({ query: { limit: 100 } })
  const find = async (id: string) => (await client.batchSandboxes({ query: { id: [id] } }))[0] ?? undefined
  let sandbox: SandboxInfo | undefined = specs.some(spec => spec.id === name)
    ? await client.startSandbox({ query: { sandbox_spec_id: name } })
    : await find(name)
  while (sandbox?.status === 'STARTING') {
    await new Promise(done => setTimeout(done, SANDBOX_POLL_MS))
    sandbox = await find(sandbox.id)
  }
  if (!sandbox) throw new Failure(`there is no sandbox and no template "${name}"`)
  if (sandbox.status !== 'RUNNING')
    throw new Failure(`the sandbox is ${sandbox.status}${sandbox.status_detail ? `: ${sandbox.status_detail}` : ''}`)
  const { id, sandbox_spec_id } = sandbox
  return { id, folder: specs.find(spec => spec.id === sandbox_spec_id)?.working_dir ?? FOLDER }
}
