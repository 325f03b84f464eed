import { useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'

export interface SecretMapProps {
  draft: Draft
  /** Of the draft, which holds a patch: a value puts an entry in, null takes it out. */
  name: string
  label: string
  /** The names of entries that are there already. */
  stored: readonly string[]
}

interface Row {
  id: number
  name: string
  value: string
}

/** Names with values that can be replaced and removed, never read. */
export function SecretMap({ draft, name, label, stored }: SecretMapProps) {
  const patch = (draft.get(name) ?? {}) as Record<string, string | null>
  const [rows, setRows] = useState<Row[]>([])
  const [last, setLast] = useState(0)

  const put = (next: Record<string, string | null>) => draft.set(name, Object.keys(next).length > 0 ? next : null)
  const change = (next: Row[]) => {
    setRows(next)
    const removed = Object.entries(patch).filter(([, value]) => value === null)
    const written = next.filter(row => row.name && row.value).map(row => [row.name, row.value])
    put(Object.fromEntries([...removed, ...written]))
  }
  const toggle = (key: string) => {
    const { [key]: was, ...others } = patch
    put(was === null ? others : { ...patch, [key]: null })
  }
  const edit = (id: number, part: Partial<Row>) => change(rows.map(row => (row.id === id ? { ...row, ...part } : row)))
  return (
    <fieldset class="settings-map">
      <legend>{label}</legend>
      {stored.map(key => (
        <div key={key} class="settings-map-row">
          <code>{key}</code>
          <span class="quiet">{patch[key] === null ? t('Removed when you save') : t('Set, not shown')}</span>
          <button
            type="button"
            aria-label={patch[key] === null ? t('Keep it: {key}', { key }) : t('Remove {key}', { key })}
            onClick={() => toggle(key)}
          >
            {patch[key] === null ? t('Keep it') : t('Remove')}
          </button>
        </div>
      ))}
      {rows.map((row, at) => (
        <div key={row.id} class="settings-map-row">
          <input
            aria-label={t('Name {n} of {label}', { n: at + 1, label })}
            placeholder={t('Name')}
            autocomplete="off"
            spellcheck={false}
            value={row.name}
            onInput={event => edit(row.id, { name: event.currentTarget.value.trim() })}
          />
          <input
            type="password"
            aria-label={t('Value {n} of {label}', { n: at + 1, label })}
            placeholder={t('Value')}
            autocomplete="new-password"
            value={row.value}
            onInput={event => edit(row.id, { value: event.currentTarget.value })}
          />
          <button
            type="button"
            class="icon"
            aria-label={t('Drop line {n} of {label}', { n: at + 1, label })}
            onClick={() => change(rows.filter(one => one.id !== row.id))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <div class="row">
        <button
          type="button"
          onClick={() => {
            setLast(last + 1)
            setRows([...rows, { id: last, name: '', value: '' }])
          }}
        >
          <Icon name="plus" />
          {t('Add to {label}', { label: label.toLowerCase() })}
        </button>
      </div>
    </fieldset>
  )
}
