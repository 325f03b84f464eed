import { useState } from 'preact/hooks'
import type { MCPServer } from '../../src/api/mcp.ts'
import { useApp } from '../app.ts'
import { ActionButton } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { useDraft } from './draft.ts'
import { CheckInput, ChoiceInput, LongTextInput, NumberInput, TextInput } from './inputs.tsx'
import {
  formValue,
  KINDS,
  type Kind,
  type Patch,
  type Probe,
  patched,
  patchOf,
  probe,
  sealedServer,
} from './mcp-server.ts'
import { ProbeResult } from './probe-result.tsx'
import { SaveForm } from './save-form.tsx'
import { SecretMap } from './secret-map.tsx'

export interface McpFormProps {
  /** The one to change; a new one without. */
  name?: string
  server?: MCPServer
  onSaved: () => Promise<void>
}

export function McpForm({ name, server, onSaved }: McpFormProps) {
  const { api, go, toasts } = useApp()
  const draft = useDraft(key => (key === 'name' ? (name ?? null) : formValue(server, key)))
  const [probed, setProbed] = useState<Probe>()
  const kind = draft.get('kind') as Kind
  const wished = String(draft.get('name') ?? '')
  const patch = () => patchOf(name === undefined ? { kind, ...draft.changes } : draft.changes)
  const leave = () => {
    draft.clear()
    go(['settings', 'mcp'])
  }
  const save = async () => {
    if (name !== undefined) await api.updateMcpServer({ params: { settings_key: name }, body: patch() })
    else await api.createMcpServer({ params: { settings_key: wished }, body: patched({}, patch()) })
    await onSaved()
    toasts.say(t('Saved'))
    leave()
  }
  const test = async () => {
    setProbed(undefined)
    const stored: Patch = name === undefined ? {} : await sealedServer(api, name)
    setProbed(await probe(api, wished || 'test-server', patched(stored, patch())))
  }
  const title = name === undefined ? t('Add a server') : t('Edit {name}', { name })
  return (
    <div class="group stack">
      <h3>{title}</h3>
      <SaveForm
        label={title}
        draft={draft}
        onSave={save}
        onCancel={leave}
        actions={<ActionButton action={test}>{t('Test')}</ActionButton>}
      >
        {name === undefined && (
          <TextInput
            draft={draft}
            name="name"
            label={t('Name')}
            required
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,127}"
            hint={t('Its tools are told apart by it. Letters, digits, dots, dashes and underscores.')}
          />
        )}
        <ChoiceInput
          draft={draft}
          name="kind"
          label={t('Where it is')}
          choices={Object.entries(KINDS).map(([value, label]) => ({ value, label: t(label) }))}
        />
        {kind === 'stdio' ? (
          <>
            <TextInput
              draft={draft}
              name="command"
              label={t('Command')}
              required
              placeholder="npx"
              hint={t('A program that is installed in the sandbox: it runs there.')}
            />
            <LongTextInput draft={draft} name="args" rows={3} label={t('Arguments')} hint={t('One on each line.')} />
            <SecretMap
              draft={draft}
              name="env"
              label={t('Environment variables')}
              stored={Object.keys(server?.env ?? {})}
            />
          </>
        ) : (
          <>
            <TextInput
              draft={draft}
              name="url"
              type="url"
              label={t('Address')}
              required
              placeholder="https://example.com/mcp"
            />
            <CheckInput
              draft={draft}
              name="oauth"
              label={t('Log in with the browser (OAuth)')}
              hint={t('For servers that ask who you are. Save, then choose “Log in” in the list.')}
            />
            <SecretMap draft={draft} name="headers" label={t('Headers')} stored={Object.keys(server?.headers ?? {})} />
          </>
        )}
        <div class="pair">
          <TextInput draft={draft} name="description" label={t('Description')} hint={t('For you, in the list.')} />
          <NumberInput
            draft={draft}
            name="timeout"
            label={t('Patience')}
            unit={t('seconds')}
            hint={t('How long a call of a tool may take.')}
          />
        </div>
        <ProbeResult probe={probed} />
      </SaveForm>
    </div>
  )
}
