import type { Tool } from '../tool.ts'
import { builtIn } from './built-in.ts'
import { Editor, editorInput } from './editor.ts'
import { Refused } from './refused.ts'

const PLAN = 'PLAN.md'

const DESCRIPTION = `Looks at any file or directory, and writes the plan: the file ${PLAN} in the working directory, the only one it can change.
- view: a file with line numbers, or a directory two levels deep. Use view_range for long files.
- create: the plan, when there is none yet.
- str_replace: replaces old_str, which must be in the plan exactly once, by new_str.
- insert: puts lines after a line given by number.
- undo_edit: takes back the last change to the plan.`

export function makePlanningFileEditor(): Tool {
  const editor = new Editor()
  return builtIn({
    name: 'planning_file_editor',
    kind: 'PlanningFileEditorTool',
    action: 'PlanningFileEditorAction',
    observation: 'PlanningFileEditorObservation',
    description: DESCRIPTION,
    input: editorInput,
    annotations: { openWorldHint: false },
    run: async (action, hands) => {
      const observed = await editor.run(action, hands, async (path, files) => {
        if (path !== files.resolve(PLAN))
          throw new Refused(
            `Only the plan can be changed while planning: ${files.resolve(PLAN)}. ${path} was left alone.`,
          )
        if (await files.isLink(path)) throw new Refused(`${path} is a link. Remove it: the plan is a file of its own.`)
      })
      return { ...observed, kind: 'PlanningFileEditorObservation' }
    },
  })
}
