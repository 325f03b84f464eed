import { useId } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Field } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import type { Choices, PlaceKind, SetChoices } from './choices.ts'

const PLACES: Record<PlaceKind, string> = {
  folder: 'A folder',
  repository: 'A repository',
  sandbox: 'A new sandbox',
}

/** Where the agent works: a folder that stays, a repository fetched into a sandbox of its own, or an empty one. */
export function Place({ choices, set }: { choices: Choices; set: SetChoices }) {
  return (
    <fieldset class="start-place">
      <legend>{t('Where it works')}</legend>
      <div class="start-places">
        {Object.entries(PLACES).map(([place, label]) => (
          <label key={place}>
            <input
              type="radio"
              name="place"
              checked={choices.place === place}
              onChange={() => set({ place: place as PlaceKind })}
            />
            {t(label)}
          </label>
        ))}
      </div>
      {choices.place === 'folder' && <Folder choices={choices} set={set} />}
      {choices.place === 'repository' && <Repository choices={choices} set={set} />}
      {choices.place === 'sandbox' && <Spec choices={choices} set={set} />}
    </fieldset>
  )
}

interface PartProps {
  choices: Choices
  set: SetChoices
}

function Folder({ choices, set }: PartProps) {
  const { quiet, conversations } = useApp()
  const { value } = useLoad(() => quiet.listWorkspaces())
  const list = useId()
  const used = conversations.items.value?.map(one => one.workspace.working_dir) ?? []
  const folders = new Set([...(value?.workspaces.map(one => one.path) ?? []), ...used])
  return (
    <Field
      label={t('Folder')}
      hint={t(
        'In the default sandbox; made if it is missing. Start the server with --workspace DIR to let agents into a folder of yours.',
      )}
    >
      {ids => (
        <>
          <input
            {...ids}
            list={list}
            required
            autocomplete="off"
            spellcheck={false}
            value={choices.folder}
            onInput={event => set({ folder: event.currentTarget.value })}
          />
          <datalist id={list}>
            {[...folders].map(folder => (
              <option key={folder} value={folder} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

function Repository({ choices, set }: PartProps) {
  return (
    <div class="pair">
      <Field label={t('Repository')} hint={t('owner/name, or an address. Private ones need a token: Settings, Git.')}>
        {ids => (
          <input
            {...ids}
            required
            autocomplete="off"
            spellcheck={false}
            placeholder="owner/name"
            value={choices.repository}
            onInput={event => set({ repository: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field label={t('Branch')} hint={t('Its default branch when empty.')}>
        {ids => (
          <input
            {...ids}
            autocomplete="off"
            spellcheck={false}
            value={choices.branch}
            onInput={event => set({ branch: event.currentTarget.value })}
          />
        )}
      </Field>
    </div>
  )
}

function Spec({ choices, set }: PartProps) {
  const { quiet } = useApp()
  const { value } = useLoad(() => quiet.searchSandboxSpecs())
  return (
    <Field label={t('Made from')} hint={t('Templates for sandboxes stand in the configuration of the server.')}>
      {ids => (
        <select {...ids} value={choices.spec} onChange={event => set({ spec: event.currentTarget.value })}>
          <option value="">{t('The default template')}</option>
          {value?.items.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
