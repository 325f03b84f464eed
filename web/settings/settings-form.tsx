import type { ComponentChildren } from 'preact'
import type { Api } from '../api.ts'
import { useApp } from '../app.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { type Draft, nested, useDraft, type Values, valueAt } from './draft.ts'
import { Loaded } from './loaded.tsx'
import { SaveForm } from './save-form.tsx'

export type Settings = Awaited<ReturnType<Api['getSettings']>>

const NESTED = /^(agent_settings|conversation_settings)\./

/** What was changed and nothing else: some of it is said nested, some flat. */
export async function saveSettings(api: Api, changes: Values): Promise<void> {
  const all = Object.entries(changes)
  const { agent_settings: agent, conversation_settings: conversation } = nested(
    Object.fromEntries(all.filter(([key]) => NESTED.test(key))),
  ) as Record<string, Record<string, unknown> | undefined>
  const flat = Object.fromEntries(all.filter(([key]) => !NESTED.test(key)))
  if (agent || conversation)
    await api.updateSettings({
      body: {
        ...(agent && { agent_settings_diff: agent }),
        ...(conversation && { conversation_settings_diff: conversation }),
      },
    })
  if (Object.keys(flat).length > 0) await api.storeSettings({ body: flat })
}

export interface SettingsFormProps {
  label: string
  children: (draft: Draft, settings: Settings) => ComponentChildren
}

/** A part of the settings, by their names on the wire: `conversation_settings.max_iterations`. */
export function SettingsForm(props: SettingsFormProps) {
  const { api } = useApp()
  const load = useLoad(signal => api.getSettings({ signal }))
  return <Loaded load={load}>{settings => <Fields {...props} settings={settings} onSaved={load.again} />}</Loaded>
}

type FieldsProps = SettingsFormProps & { settings: Settings; onSaved: () => Promise<void> }

function Fields({ label, children, settings, onSaved }: FieldsProps) {
  const { api, toasts } = useApp()
  const draft = useDraft(key => valueAt(settings, key))
  return (
    <SaveForm
      label={label}
      draft={draft}
      onSave={async () => {
        await saveSettings(api, draft.changes)
        await onSaved()
        draft.clear()
        toasts.say(t('Saved'))
      }}
    >
      {children(draft, settings)}
    </SaveForm>
  )
}
