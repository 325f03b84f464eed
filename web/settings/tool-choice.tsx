import { t } from '../words.ts'
import { Choices } from './choices.tsx'
import type { Draft } from './draft.ts'
import { Check } from './inputs.tsx'

interface Tool {
  name: string
  params?: Record<string, unknown>
}

const USUAL = ['terminal', 'file_editor', 'task_tracker']

const WORDS: Record<string, string> = {
  terminal: 'Run commands in a shell of its sandbox.',
  file_editor: 'Read, write and change files.',
  task_tracker: 'Keep a list of what is to be done.',
  planning_file_editor: 'Read files, and write nothing but its plan.',
  glob: 'Find files by their names.',
  grep: 'Search in files.',
  read_file: 'Read a file.',
  write_file: 'Write a file.',
  edit: 'Change a part of a file.',
  list_directory: 'List a folder.',
  apply_patch: 'Change several files at once, as a patch.',
  task_tool_set: 'Hand tasks to sub-agents, and go on meanwhile.',
  task: 'Hand a task to a sub-agent.',
}

/** Null is the usual set, whatever that will be one day. */
export function ToolChoice({ draft, name, all }: { draft: Draft; name: string; all: readonly string[] }) {
  const chosen = draft.get(name) as Tool[] | null
  const toggle = (tool: string, wanted: boolean) =>
    draft.set(name, wanted ? [...(chosen ?? []), { name: tool, params: {} }] : chosen?.filter(one => one.name !== tool))
  const offered = [...new Set([...all, ...(chosen ?? []).map(tool => tool.name)])]
  return (
    <>
      <Choices
        label={t('What the agent may use')}
        current={chosen ? 'own' : 'usual'}
        onSelect={key => draft.set(name, key === 'usual' ? null : USUAL.map(tool => ({ name: tool, params: {} })))}
        choices={[
          { key: 'usual', label: t('The usual tools'), hint: t('Terminal, file editor and task list.') },
          {
            key: 'own',
            label: t('These tools'),
            hint: t('Exactly those that you choose. MCP servers bring theirs besides.'),
          },
        ]}
      />
      {chosen && (
        <fieldset class="settings-choices settings-tools">
          <legend>{t('Chosen tools')}</legend>
          {offered.map(tool => (
            <Check
              key={tool}
              label={<code>{tool}</code>}
              hint={WORDS[tool] && t(WORDS[tool])}
              checked={chosen.some(one => one.name === tool)}
              onChange={wanted => toggle(tool, wanted)}
            />
          ))}
        </fieldset>
      )}
    </>
  )
}
