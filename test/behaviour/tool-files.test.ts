import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeApplyPatch } from '../../src/agent/tools/apply-patch.ts'
import { makeEdit } from '../../src/agent/tools/edit.ts'
import { makeFileEditor } from '../../src/agent/tools/file-editor.ts'
import { makeFinish } from '../../src/agent/tools/finish.ts'
import { makeGlob } from '../../src/agent/tools/glob.ts'
import { makeGrep } from '../../src/agent/tools/grep.ts'
import { makeListDirectory } from '../../src/agent/tools/list-directory.ts'
import { makePlanningFileEditor } from '../../src/agent/tools/planning-file-editor.ts'
import { makeReadFile } from '../../src/agent/tools/read-file.ts'
import { makeTaskTracker } from '../../src/agent/tools/task-tracker.ts'
import { makeThink } from '../../src/agent/tools/think.ts'
import { makeWriteFile } from '../../src/agent/tools/write-file.ts'
import { ToolDefinition } from '../../src/api/actions.ts'
import { NO_WALLS } from '../support/hands.ts'
import { type Desk, ToolBench, textOf } from '../support/tool-bench.ts'

let bench: ToolBench
before(async () => {
  if (!NO_WALLS) bench = await ToolBench.open()
})
after(async () => {
  await bench?.[Symbol.asyncDispose]()
})

const suite = { skip: NO_WALLS }
const read = (desk: Desk, args: object) => desk.call(makeReadFile(), { ...args }, 'ReadFileObservation')
const write = (desk: Desk, args: object) => desk.call(makeWriteFile(), { ...args }, 'WriteFileObservation')
const edit = (desk: Desk, args: object) => desk.call(makeEdit(), { ...args }, 'EditObservation')
const list = (desk: Desk, args: object) => desk.call(makeListDirectory(), { ...args }, 'ListDirectoryObservation')

describe('read_file', suite, () => {
  test('a short file comes whole, byte for byte', async () => {
    const desk = await bench.desk()
    await desk.put('a', 'one\r\ntwo\n\nend')
    const { file_content, is_truncated, lines_shown, total_lines, file_path } = await read(desk, { file_path: 'a' })
    assert.deepEqual(
      { file_content, is_truncated, lines_shown, total_lines, file_path },
      {
        file_content: 'one\r\ntwo\n\nend',
        is_truncated: false,
        lines_shown: [1, 4],
        total_lines: 4,
        file_path: `${desk.folder}/a`,
      },
    )
    await desk.put('empty', '')
    assert.match(textOf(await read(desk, { file_path: 'empty' })), /is empty/)
  })

  test('parts of a long file fit together, and each says how to go on', async () => {
    const desk = await bench.desk()
    const lines = Array.from({ length: 3000 }, (_, index) => `${index} ${'é'.repeat(index % 50)}`)
    await desk.put('long', `${lines.join('\n')}\n`)
    const seen: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part = await read(desk, { file_path: 'long', offset })
      seen.push(...part.file_content.split('\n'))
      const next: string | undefined = /offset (\d+)/.exec(textOf(part))?.[1]
      assert.ok(next === undefined || Number(next) > offset, 'it does not go on')
      offset = next === undefined ? undefined : Number(next)
    }
    assert.deepEqual(seen, lines)
    const some = await read(desk, { file_path: 'long', offset: 10, limit: 2 })
    assert.deepEqual(
      [some.file_content, some.lines_shown, some.is_truncated],
      [lines.slice(10, 12).join('\n'), [11, 12], true],
    )
    assert.ok((await read(desk, { file_path: 'long', offset: 3000 })).is_error)
  })

  test('an event stays an event whatever the characters; what cannot be read says why', async () => {
    const desk = await bench.desk()
    for (const filling of ['日', '\u0001', '🙂']) {
      await desk.put('a', `${filling.repeat(70)}\n`.repeat(3_000))
      assert.ok((await read(desk, { file_path: 'a' })).is_truncated)
    }
    await desk.sh('mkdir d; head -c 100 /dev/zero > zero')
    for (const file_path of ['none', 'd', 'zero']) assert.ok((await read(desk, { file_path })).is_error, file_path)
    assert.match((await read(desk, { file_path: '/proc/self/status' })).file_content, /^Name:/)
  })
})

describe('write_file', suite, () => {
  test('it makes a file with its folders, or replaces all of one', async () => {
    const desk = await bench.desk()
    const made = await write(desk, { file_path: 'x/y/a b', content: 'one\n' })
    assert.deepEqual([made.is_new_file, made.old_content, made.new_content], [true, null, 'one\n'])
    const replaced = await write(desk, { file_path: 'x/y/a b', content: 'two' })
    assert.deepEqual([replaced.is_new_file, replaced.old_content, replaced.new_content], [false, 'one\n', 'two'])
    assert.equal(`${await desk.get('x/y/a b')}`, 'two')
  })

  test('mode, line ends and encoding of what was there are kept where they can be', async () => {
    const desk = await bench.desk()
    await desk.sh(
      'printf "a\\r\\nb\\r\\n" > crlf; chmod 700 crlf; printf "\\351\\n" > latin; printf "\\357\\273\\277x" > bom; head -c 9 /dev/zero > zero',
    )
    await write(desk, { file_path: 'crlf', content: 'c\nd\n' })
    await write(desk, { file_path: 'latin', content: 'è\n' })
    await write(desk, { file_path: 'bom', content: 'y' })
    assert.equal((await write(desk, { file_path: 'zero', content: 'text' })).is_error, false)
    assert.equal(`${await desk.sh('stat -c %a crlf')}`, '700\n')
    assert.deepEqual(await desk.get('crlf'), Buffer.from('c\r\nd\r\n'))
    assert.deepEqual(await desk.get('latin'), Buffer.from([0xe8, 0x0a]))
    assert.deepEqual(await desk.get('bom'), Buffer.from('\ufeffy'))
    await write(desk, { file_path: 'latin', content: '日\n' })
    assert.equal(`${await desk.get('latin')}`, '日\n')
  })

  test('a folder, a forbidden place and a file as a folder are refused', async () => {
    const desk = await bench.desk()
    await desk.sh('mkdir d; echo x > f; mkdir locked; chmod 500 locked')
    for (const file_path of ['d', 'f/x', '/usr/x', 'locked/x'])
      assert.ok((await write(desk, { file_path, content: '' })).is_error, file_path)
    assert.equal(`${await desk.get('f')}`, 'x\n')
  })
})

describe('edit', suite, () => {
  test('it replaces as many as expected, or none at all', async () => {
    const desk = await bench.desk()
    await desk.put('a', 'x1 x\r\nx\r\n')
    const refused = await edit(desk, { file_path: 'a', old_string: 'x', new_string: 'y' })
    assert.match(textOf(refused), /occurs 3 times.*not 1.*lines 1, 1, 2/)
    assert.equal(`${await desk.get('a')}`, 'x1 x\r\nx\r\n')
    const done = await edit(desk, { file_path: 'a', old_string: 'x', new_string: 'y\nz', expected_replacements: 3 })
    assert.deepEqual([done.replacements_made, done.new_content], [3, 'y\r\nz1 y\r\nz\r\ny\r\nz\r\n'])
    const all = await edit(desk, { file_path: 'a', old_string: 'z', new_string: '$&', expected_replacements: 0 })
    assert.deepEqual([all.replacements_made, all.new_content], [3, 'y\r\n$&1 y\r\n$&\r\ny\r\n$&\r\n'])
    assert.equal(`${await desk.get('a')}`, all.new_content)
    assert.ok((await edit(desk, { file_path: 'a', old_string: 'absent', new_string: '' })).is_error)
    assert.ok((await edit(desk, { file_path: 'a', old_string: '1', new_string: '1' })).is_error)
  })

  test('an empty old_string makes a new file and overwrites none', async () => {
    const desk = await bench.desk()
    const made = await edit(desk, { file_path: 'new/a', old_string: '', new_string: 'x\n' })
    assert.deepEqual([made.is_new_file, made.replacements_made, made.new_content], [true, 0, 'x\n'])
    assert.match(textOf(await edit(desk, { file_path: 'new/a', old_string: '', new_string: 'y' })), /exists already/)
    assert.equal(`${await desk.get('new/a')}`, 'x\n')
  })
})

describe('list_directory', suite, () => {
  test('entries have names, kinds, sizes and times; below too when asked for', async () => {
    const desk = await bench.desk()
    await desk.put('a.txt', '12345')
    for (const name of ['.hidden', 'd/e/f', 'node_modules/p/q', 'new\nline', '-x']) await desk.put(name, '')
    await desk.sh('TZ=UTC touch -t 202001020304.05 a.txt; ln -s d link; ln -s nowhere dangling; ln -s loop loop')
    const flat = await list(desk, {})
    assert.deepEqual(
      flat.entries.map(({ name, is_directory }) => `${name}${is_directory ? '/' : ''}`),
      ['-x', '.hidden', 'a.txt', 'd/', 'dangling', 'link/', 'loop', 'new\nline', 'node_modules/'],
    )
    assert.deepEqual(flat.entries[2], {
      name: 'a.txt',
      path: `${desk.folder}/a.txt`,
      is_directory: false,
      size: 5,
      modified_time: '2020-01-02T03:04:05.000000',
    })
    assert.deepEqual([flat.total_count, flat.is_truncated, flat.dir_path], [9, false, desk.folder])
    const deep = await list(desk, { dir_path: '.', recursive: true })
    const below = deep.entries.map(({ path }) => path.slice(desk.folder.length + 1))
    assert.deepEqual(below, [
      '-x',
      '.hidden',
      'a.txt',
      'd',
      'd/e',
      'd/e/f',
      'dangling',
      'link',
      'loop',
      'new\nline',
      'node_modules',
    ])
  })

  test('a large folder is cut and counted; what is no folder, or closed, says so', async () => {
    const desk = await bench.desk()
    await desk.sh(
      `mkdir big closed; cd big; long=$(printf %0200d 0); for i in $(seq 1000); do : > "$long$i"; done; chmod 0 ../closed`,
    )
    const cut = await list(desk, { dir_path: 'big' })
    assert.deepEqual([cut.total_count, cut.is_truncated], [1000, true])
    assert.ok(cut.entries.length > 50 && cut.entries.length <= 200)
    await desk.sh('mkdir many; cd many; for i in $(seq 300); do : > $i; done')
    const many = await list(desk, { dir_path: 'many' })
    assert.deepEqual([many.entries.length, many.total_count, many.is_truncated], [200, 300, true])
    await desk.put('f', '')
    for (const dir_path of ['f', 'none', 'closed']) assert.ok((await list(desk, { dir_path })).is_error, dir_path)
  })
})

describe('tools without hands', () => {
  // They must not need a sandbox at all.
  const nowhere = {
    sandbox: () => Promise.reject(new Error('no sandbox')),
    workingDir: '/',
    conversation: 'none',
    secretsFor: async () => ({}),
    egress: undefined,
    signal: new AbortController().signal,
  }

  test('finish says its message, think acknowledges', async () => {
    const finish = makeFinish()
    const finished = await finish.run(finish.understand({ message: 'All done.' }), nowhere)
    assert.deepEqual([finished.kind, finished.is_error, textOf(finished)], ['FinishObservation', false, 'All done.'])
    const think = makeThink()
    const thought = await think.run(think.understand({ thought: 'hm' }), nowhere)
    assert.deepEqual([thought.kind, thought.is_error], ['ThinkObservation', false])
    assert.ok(textOf(thought).length > 0)
  })

  test('the list of tasks is kept, shown, and taken up again by another instance', async () => {
    const first = makeTaskTracker()
    const plan = {
      command: 'plan',
      task_list: [
        { title: 'look', status: 'done' },
        { title: 'fix', notes: 'in a.ts' },
      ],
    }
    const planned = await first.run(first.understand(plan), nowhere)
    assert.ok(planned.kind === 'TaskTrackerObservation')
    assert.deepEqual(planned.task_list, [
      { title: 'look', notes: '', status: 'done' },
      { title: 'fix', notes: 'in a.ts', status: 'todo' },
    ])
    const second = makeTaskTracker()
    second.recall?.([planned])
    for (const tool of [first, second]) {
      const viewed = await tool.run(tool.understand({}), nowhere)
      assert.ok(viewed.kind === 'TaskTrackerObservation')
      assert.deepEqual([viewed.command, viewed.task_list], ['view', planned.task_list])
      assert.equal(textOf(viewed), '1. [x] look\n2. [ ] fix\n   in a.ts')
    }
    assert.match(textOf(await makeTaskTracker().run(first.understand({}), nowhere)), /empty/)
  })
})

describe('what a model is told of each tool', () => {
  const makers = [
    makeApplyPatch,
    makeEdit,
    makeFileEditor,
    makeFinish,
    makeGlob,
    makeGrep,
    makeListDirectory,
    makePlanningFileEditor,
    makeReadFile,
    makeTaskTracker,
    makeThink,
    makeWriteFile,
  ]

  test('every argument is described, and the definition is what events may hold', () => {
    for (const { name, parameters, definition, description } of makers.map(make => make())) {
      assert.ok(description.length > 50, name)
      assert.equal(parameters.type, 'object')
      const fields = Object.entries(parameters.properties as Record<string, { description?: string }>)
      for (const [field, schema] of fields) assert.ok(schema.description, `${name}.${field}`)
      if (name === 'apply_patch') assert.equal(definition, undefined)
      else assert.deepEqual(ToolDefinition.parse(definition), definition)
    }
  })

  test('only what changes nothing is said to', () => {
    const quiet = makers.map(make => make()).filter(({ readOnly }) => readOnly)
    assert.deepEqual(
      quiet.map(({ name }) => name),
      ['finish', 'glob', 'grep', 'list_directory', 'read_file', 'think'],
    )
  })
})
