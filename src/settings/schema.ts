import * as z from 'zod'
import { ACPAgentSettings, ConversationSettings, OpenHandsAgentSettings } from '../api/agent.ts'
import { unwrap } from '../api/secret.ts'
import type { SettingsFieldSchema, SettingsSchema, SettingsSectionSchema } from '../api/settings.ts'
import { getIn } from './paths.ts'
import { agentDetails, conversationDetails, type Detail } from './schema-table.ts'

/** The settings described for a form: what the schemas say, and schema-table.ts for the rest. */
export function agentSchema(): SettingsSchema {
  const native = describe(OpenHandsAgentSettings, OpenHandsAgentSettings.parse({}), agentDetails, 'openhands')
  const acp = describe(ACPAgentSettings, ACPAgentSettings.parse({ agent_kind: 'acp' }), agentDetails, 'acp')
  const general = native(
    ['general', 'General'],
    ['agent', 'tools', 'enable_sub_agents', 'enable_switch_llm_tool', 'tool_concurrency_limit', 'mcp_config'],
  )
  return {
    model_name: 'AgentSettings',
    sections: [
      { ...general, variant: null },
      native(['llm', 'LLM']),
      native(['agent_context', 'Memory'], ['agent_context.load_memory']),
      native(['condenser', 'Condenser']),
      native(['verification', 'Verification']),
      acp(
        ['acp', 'ACP (Agent Client Protocol)'],
        [
          'acp_server',
          'acp_command',
          'acp_args',
          'acp_model',
          'acp_session_mode',
          'acp_prompt_timeout',
          'acp_startup_timeout',
        ],
      ),
      acp(['llm', 'LLM (for metrics)']),
    ],
  }
}

export function conversationSchema(): SettingsSchema {
  const section = describe(ConversationSettings, ConversationSettings.parse({}), conversationDetails, null)
  return {
    model_name: 'ConversationSettings',
    sections: [
      section(['general', 'General'], ['max_iterations']),
      section(['verification', 'Verification'], ['confirmation_mode', 'security_analyzer']),
    ],
  }
}

/** Makes sections; without a list of keys, one of all that is shown of the object of that name. */
function describe(
  schema: z.ZodObject,
  defaults: object,
  details: Readonly<Record<string, Detail>>,
  variant: string | null,
) {
  return ([key, label]: [string, string], keys?: string[]): SettingsSectionSchema => {
    const shown = keys ?? keysOf(schema.shape[key], key).filter(path => !HIDDEN.has(path))
    const fields = shown.map(path =>
      field(path, at(schema, path), getIn(defaults, path.split('.')), details[path] ?? {}, { key, label, variant }),
    )
    return { key, label, fields, variant }
  }
}

/** Taken but not shown, or shown but not taken. */
const HIDDEN = new Set(['llm.fallback_strategy', 'llm.is_subscription'])

function field(
  key: string,
  schemas: z.core.$ZodType[],
  value: unknown,
  detail: Detail,
  section: { key: string; label: string; variant: string | null },
): SettingsFieldSchema {
  const choices = detail.free ? [] : schemas.flatMap(valuesOf)
  return {
    key,
    label: detail.label ?? labelOf(key),
    description: detail.description ?? null,
    section: section.key,
    section_label: section.label,
    value_type: typeOf(schemas[0]!),
    default: value,
    prominence: detail.prominence ?? 'minor',
    depends_on: detail.depends_on ?? [],
    secret: z.globalRegistry.get(schemas[0]!)?.format === 'password',
    choices: choices.map(choice => ({ value: choice, label: choice })),
    variant: section.variant,
  }
}

type Def = z.core.$ZodTypes['_zod']['def']
const defOf = (schema: z.core.$ZodType): Def => (unwrap(schema) as z.core.$ZodTypes)._zod.def

/** The objects that a schema may be: one, or the options of a union. */
function shapesOf(schema: z.core.$ZodType): Record<string, z.core.$ZodType>[] {
  const def = defOf(schema)
  if (def.type === 'union') return def.options.flatMap(shapesOf)
  return def.type === 'object' ? [def.shape] : []
}

const keysOf = (schema: z.core.$ZodType, prefix: string): string[] => [
  ...new Set(shapesOf(schema).flatMap(shape => Object.keys(shape).map(key => `${prefix}.${key}`))),
]

/** Every schema that a path may have. */
const at = (schema: z.core.$ZodType, path: string): z.core.$ZodType[] =>
  path
    .split('.')
    .reduce(
      (schemas, key) => schemas.flatMap(shapesOf).flatMap(shape => (shape[key] ? [unwrap(shape[key])] : [])),
      [schema],
    )

function typeOf(schema: z.core.$ZodType): SettingsFieldSchema['value_type'] {
  const def = defOf(schema)
  if (def.type === 'boolean' || def.type === 'array') return def.type
  if (def.type === 'number') return 'format' in def && def.format === 'safeint' ? 'integer' : 'number'
  return def.type === 'record' || def.type === 'object' ? 'object' : 'string'
}

function valuesOf(schema: z.core.$ZodType): string[] {
  const def = defOf(schema)
  if (def.type === 'enum') return Object.values(def.entries).map(String)
  return def.type === 'literal' ? def.values.map(String) : []
}

const UPPER_CASE = /^(api|url|id|aws|llm)$/

const labelOf = (key: string): string =>
  key
    .slice(key.lastIndexOf('.') + 1)
    .split('_')
    .map(word => (UPPER_CASE.test(word) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join(' ')
