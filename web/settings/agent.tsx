import type { SettingsSchema } from '../../src/api/settings.ts'
import { useApp } from '../app.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { AgentProfiles } from './agent-profiles.tsx'
import type { Draft } from './draft.ts'
import { LongTextInput, NumberInput, SecretInput } from './inputs.tsx'
import { Loaded } from './loaded.tsx'
import { SchemaInput, type Words } from './schema-input.tsx'
import { SettingsForm } from './settings-form.tsx'
import { ToolChoice } from './tool-choice.tsx'

/** Which settings of the schema are shown, and what they do where the schema does not say it. */
const BEHAVIOUR: Record<string, Words> = {
  enable_sub_agents: { label: 'Sub-agents', hint: 'Let the agent hand parts of its task to agents of its own.' },
  enable_switch_llm_tool: {
    label: 'Switching models',
    hint: 'Let the agent change to another of your models by itself.',
  },
  'agent_context.load_memory': {
    label: 'Memory',
    hint: 'Let the agent note what it learned, and read it in later conversations.',
  },
  tool_concurrency_limit: { hint: 'How many tools may run at the same time. With 1 they run one after the other.' },
}
const CONDENSER: Record<string, Words> = {
  'condenser.enabled': {
    label: 'Summarise long conversations',
    hint: 'Older parts are summarised for the model, so that they fit and cost less. You still see all of it.',
  },
  'condenser.max_size': {
    label: 'From this many events on',
    hint: 'At least 20. A message, an action and its result are an event each.',
  },
  'condenser.max_tokens': {
    label: 'From this many tokens on',
    hint: 'Whichever comes first. Not set: only events count.',
  },
  'condenser.keep_first': { label: 'First events kept', hint: 'These are never summarised: the task stands there.' },
}

export function AgentSection() {
  const { api } = useApp()
  const load = useLoad(signal =>
    Promise.all([api.getAgentSchema({ signal }), api.getConversationSchema({ signal }), api.listTools({ signal })]),
  )
  return (
    <Loaded load={load}>
      {([agent, conversation, tools]) => (
        <>
          <SettingsForm label={t('Agent')}>
            {(draft, settings) => (
              <>
                <div class="group stack">
                  <h3>{t('Instructions')}</h3>
                  <LongTextInput
                    draft={draft}
                    name="agent_settings.agent_context.system_message_suffix"
                    label={t('For every conversation')}
                    hint={t(
                      'Added to what the agent is told at the start, such as how you like code and commits to be.',
                    )}
                  />
                </div>
                <div class="group stack">
                  <h3>{t('Tools')}</h3>
                  <ToolChoice draft={draft} name="agent_settings.tools" all={tools} />
                  <SecretInput
                    draft={draft}
                    name="search_api_key"
                    label={t('Key for web search')}
                    isSet={settings.search_api_key_set}
                    removal=""
                    hint={t('Of Tavily (it begins with tvly-). With it agents can search the web.')}
                  />
                </div>
                <div class="group stack">
                  <h3>{t('Limits')}</h3>
                  <div class="pair">
                    <Inputs
                      draft={draft}
                      schema={conversation}
                      prefix="conversation_settings."
                      words={{
                        max_iterations: {
                          label: 'Steps in a run',
                          hint: 'An agent that took so many stops and waits for you.',
                        },
                      }}
                    />
                    <NumberInput
                      draft={draft}
                      name="max_budget_per_task"
                      label={t('Budget for a conversation')}
                      unit="US$"
                      hint={t('An agent that cost so much stops. Not set: no limit.')}
                    />
                  </div>
                </div>
                <div class="group stack">
                  <h3>{t('Behaviour')}</h3>
                  <Inputs draft={draft} schema={agent} prefix="agent_settings." words={BEHAVIOUR} />
                </div>
                <div class="group stack">
                  <h3>{t('Long conversations')}</h3>
                  <Inputs draft={draft} schema={agent} prefix="agent_settings." words={CONDENSER} />
                </div>
              </>
            )}
          </SettingsForm>
          <AgentProfiles />
        </>
      )}
    </Loaded>
  )
}

interface InputsProps {
  draft: Draft
  schema: SettingsSchema
  prefix: string
  words: Record<string, Words>
}

/** In the order of the words; what depends on a switch shows once it is on. */
function Inputs({ draft, schema, prefix, words }: InputsProps) {
  const fields = schema.sections.flatMap(({ fields }) => fields).filter(({ variant }) => variant !== 'acp')
  const shown = Object.keys(words).flatMap(key => fields.find(field => field.key === key) ?? [])
  return (
    <>
      {shown
        .filter(({ depends_on }) => depends_on.every(key => draft.get(`${prefix}${key}`) === true))
        .map(field => (
          <SchemaInput key={field.key} draft={draft} field={field} prefix={prefix} words={words[field.key]} />
        ))}
    </>
  )
}
