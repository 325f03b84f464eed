import type { Tool } from '../tool.ts'
import { builtIn } from './built-in.ts'
import { Editor, editorInput } from './editor.ts'

const DESCRIPTION = `Looks at files and directories, and makes precise changes to text files.
- view: a file with line numbers, or a directory two levels deep. The numbers are not part of the file. Images (png, jpeg, gif, webp) are shown. Use view_range for long files.
- create: a new file, with its folders. An existing one is never overwritten.
- str_replace: replaces old_str by new_str. old_str must be in the file exactly once, with its indentation; add lines around it until it is unique.
- insert: puts lines after a line given by number. View the file first: earlier changes move the numbers.
- undo_edit: takes back the last change this tool made to that file. It can be repeated.
Encoding, line ends and permissions of a file are kept. Changes made elsewhere, in a terminal for instance, cannot be undone here.`

export function makeFileEditor(): Tool {
  const editor = new Editor()
  return builtIn({
    name: 'file_editor',
    kind: 'FileEditorTool',
    action: 'FileEditorAction',
    observation: 'FileEditorObservation',
    description: DESCRIPTION,
    input: editorInput,
    annotations: { openWorldHint: false },
    run: async (action, hands) => ({ ...(await editor.run(action, hands)), kind: 'FileEditorObservation' }),
  })
}
