import { useState } from 'preact/hooks'
import type { ProfileListResponse } from '../../src/api/profiles.ts'
import type { SettingsSchema } from '../../src/api/settings.ts'
import { useApp } from '../app.ts'
import { ActionButton } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { ConnectionChoice } from './connection-choice.tsx'
import { useDraft } from './draft.ts'
import { Check, SecretInput, TextInput } from './inputs.tsx'
import { AWS_SECRETS } from './llm-words.ts'
import { Loaded } from './loaded.tsx'
import { ModelChoice } from './model-choice.tsx'
import { MoreOfModel } from './more-of-model.tsx'
import { type Llm, storedLlm, type Tested, testLlm, Verdict } from './profile-test.tsx'
import { SaveForm } from './save-form.tsx'

export interface ProfileFormProps {
  /** The one to change; a new one without. */
  name?: string
  /** What a new one begins with. */
  proposed?: Record<string, string>
}

export function ProfileForm({ name, proposed = {} }: ProfileFormProps) {
  const { api } = useApp()
  const load = useLoad(
    async signal => {
      const schema = await api.getAgentSchema({ signal })
      const profiles = await api.listProfiles({ signal })
      return { schema, profiles, stored: name === undefined ? defaults(schema) : await storedLlm(api, name, signal) }
    },
    [name],
  )
  return (
    <Loaded load={load}>
      {({ schema, profiles, stored }) => (
        <ProfileFields name={name} schema={schema} profiles={profiles} stored={stored} proposed={proposed} />
      )}
    </Loaded>
  )
}

interface ProfileFieldsProps {
  name: string | undefined
  schema: SettingsSchema
  profiles: ProfileListResponse
  stored: Llm
  proposed: Record<string, string>
}

function ProfileFields({ name, schema, profiles, stored, proposed }: ProfileFieldsProps) {
  const { api, go, toasts } = useApp()
  const draft = useDraft(
    key => (key === 'name' ? name : isSecret(key) ? null : stored[key]) ?? null,
    name === undefined ? { model: proposed.model, base_url: proposed.base_url } : {},
  )
  const [tested, setTested] = useState<Tested>()
  const [isDefault, setDefault] = useState(profiles.profiles.every(({ model }) => model === 'demo/guide'))

  const wished = String(draft.get('name') ?? name ?? (nameFor(String(draft.get('model') ?? '')) || 'model'))
  const whole = async (): Promise<Llm> => {
    const { name: _, ...changes } = draft.changes
    return { ...(name === undefined ? {} : await storedLlm(api, name)), ...changes }
  }
  const save = async () => {
    const isTaken = wished !== name && profiles.profiles.some(profile => profile.name === wished)
    if (isTaken) throw new Error(t('There is a model named {name} already.', { name: wished }))
    await api.saveProfile({ params: { name: name ?? wished }, body: { llm: await whole() } })
    if (name !== undefined && wished !== name) await api.renameProfile({ params: { name }, body: { new_name: wished } })
    // The settings hold a copy of the default one, which takes the change only then.
    if (name === undefined ? isDefault : name === profiles.active_profile)
      await api.activateProfile({ params: { name: wished } })
    draft.clear()
    toasts.say(t('Saved'))
    go(['settings', 'models'])
  }
  return (
    <div class="group stack">
      <h3>{name === undefined ? t('Add a model') : t('Edit {name}', { name })}</h3>
      <SaveForm
        label={name === undefined ? t('Add a model') : t('Edit {name}', { name })}
        draft={draft}
        onSave={save}
        onCancel={() => {
          draft.clear()
          go(['settings', 'models'])
        }}
        actions={
          <ActionButton
            disabled={!draft.get('model')}
            action={async () => {
              setTested(undefined)
              setTested(await testLlm(api, name ?? wished, await whole()))
            }}
          >
            {t('Test')}
          </ActionButton>
        }
      >
        <ModelChoice draft={draft} />
        <ConnectionChoice draft={draft} />
        {!draft.get('provider_connection_id') && (
          <div class="pair">
            <SecretInput
              draft={draft}
              name="api_key"
              label={t('API key')}
              isSet={!!stored.api_key}
              removal=""
              hint={t('Kept encrypted. Can be replaced, never read.')}
            />
            <TextInput
              draft={draft}
              name="base_url"
              type="url"
              label={t('Address')}
              placeholder={t("The provider's own")}
              hint={t('Only for a gateway, or a server of your own.')}
            />
          </div>
        )}
        <TextInput
          draft={draft}
          name="name"
          label={t('Name')}
          placeholder={wished}
          pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}"
          hint={t('What you choose it by. Letters, digits, dots, dashes and underscores.')}
        />
        {name === undefined && (
          <Check
            label={t('Make it the default')}
            hint={t('New conversations start with it.')}
            checked={isDefault}
            onChange={setDefault}
          />
        )}
        <MoreOfModel draft={draft} schema={schema} stored={stored} />
        <Verdict tested={tested} />
      </SaveForm>
    </div>
  )
}

/** What a new one is, as long as nothing is said: but which model has to be said. */
const defaults = (schema: SettingsSchema): Llm => {
  const fields = schema.sections.flatMap(({ fields }) => fields).filter(({ section }) => section === 'llm')
  return { ...Object.fromEntries(fields.map(field => [field.key.replace('llm.', ''), field.default])), model: null }
}

/** Never part of what is compared and shown. */
const isSecret = (key: string): boolean => key === 'api_key' || key in AWS_SECRETS

/** `anthropic/claude-opus-5-5` is `claude-opus-5-5`. */
const nameFor = (model: string): string =>
  model
    .split('/')
    .at(-1)!
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
