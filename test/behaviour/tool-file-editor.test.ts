import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Misunderstood } from '../../src/agent/tool.ts'
import { EditHistory } from '../../src/agent/tools/edit-history.ts'
import { makeFileEditor } from '../../src/agent/tools/file-editor.ts'
import { makePlanningFileEditor } from '../../src/agent/tools/planning-file-editor.ts'
import { NO_WALLS } from '../support/hands.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'
import { type Desk, ToolBench, textOf } from '../support/tool-bench.ts'

let bench: ToolBench
before(async () => {
  if (!NO_WALLS) bench = await ToolBench.open()
})
after(async () => {
  await bench?.[Symbol.asyncDispose]()
})

const suite = { skip: NO_WALLS }
const edit = (desk: Desk, args: Record<string, unknown>, tool = makeFileEditor()) =>
  desk.call(tool, args, 'FileEditorObservation')

describe('file_editor: view', suite, () => {
  test('a file comes with numbered lines, and a range of it with their numbers', async () => {
    const desk = await bench.desk()
    await desk.put('a.txt', 'one\ntwo\nthree\n')
    const whole = await edit(desk, { command: 'view', path: 'a.txt' })
    assert.equal(textOf(whole), `${desk.folder}/a.txt (3 lines):\n     1\tone\n     2\ttwo\n     3\tthree`)
    assert.equal(whole.path, `${desk.folder}/a.txt`)
    const part = await edit(desk, { command: 'view', path: 'a.txt', view_range: [2, -1] })
    assert.match(textOf(part), /^Lines 2 to 3 of 3 of .*:\n {5}2\ttwo\n {5}3\tthree$/)
    for (const range of [[0, 1], [4, 5], [3, 2], [1], [1, 2, 3]]) {
      const refused = await edit(desk, { command: 'view', path: 'a.txt', view_range: range })
      assert.ok(refused.is_error, `${range}`)
    }
  })

  test('a long file is cut, and what is said leads to the rest of it', async () => {
    const desk = await bench.desk()
    const lines = Array.from({ length: 5000 }, (_, index) => `line number ${index + 1}`)
    await desk.put('long', `${lines.join('\n')}\n`)
    const seen: string[] = []
    for (let from = 1; from <= lines.length; ) {
      const text = textOf(await edit(desk, { command: 'view', path: 'long', view_range: [from, -1] }))
      assert.ok(text.length < 31_000)
      seen.push(...[...text.matchAll(/^ *\d+\t(.*)$/gm)].map(match => match[1]!))
      const next = /view_range \[(\d+), 5000\]/.exec(text)?.[1]
      if (!next) break
      assert.ok(Number(next) > from, 'it does not go on')
      from = Number(next)
    }
    assert.deepEqual(seen, lines)
  })

  test('one endless line is cut, and an event stays an event whatever the characters', async () => {
    const desk = await bench.desk()
    for (const filling of ['x', '日', '\u0001', '"']) {
      await desk.put('line', filling.repeat(300_000))
      assert.match(textOf(await edit(desk, { command: 'view', path: 'line' })), /Line 1 is too long/)
      await desk.put('lines', `${filling.repeat(70)}\n`.repeat(3_000))
      assert.match(textOf(await edit(desk, { command: 'view', path: 'lines' })), /See more with view_range/)
    }
  })

  test('a directory is listed two levels deep, without what is hidden', async () => {
    const desk = await bench.desk()
    for (const name of ['a/b/c.txt', 'a/x.txt', '.hidden/y', 'a/.z', 'node_modules/p/q', 'top'])
      await desk.put(name, '')
    const listed = textOf(await edit(desk, { command: 'view', path: desk.folder }))
    assert.deepEqual(listed.split('\n').slice(1), ['a/', 'a/b/', 'a/x.txt', 'node_modules/', 'top'])
  })

  test('a small image is shown, a large one refused with what to do', async () => {
    const desk = await bench.desk()
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    await desk.put('dot.png', png)
    const [, image] = (await edit(desk, { command: 'view', path: 'dot.png' })).content
    assert.deepEqual(image, {
      type: 'image',
      image_urls: [`data:image/png;base64,${png.toString('base64')}`],
      cache_prompt: false,
    })
    await desk.put('large.png', Buffer.concat([png, Buffer.alloc(400_000)]))
    const refused = await edit(desk, { command: 'view', path: 'large.png' })
    assert.match(textOf(refused), /Make a smaller copy/)
    await desk.put('largest.png', Buffer.concat([png, Buffer.alloc(170_000)]))
    assert.equal((await edit(desk, { command: 'view', path: 'largest.png' })).content.length, 2)
  })

  test('what cannot be shown says why: missing, binary, huge, a pipe, forbidden, a loop of links', async () => {
    const desk = await bench.desk()
    await desk.put('binary', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3]))
    await desk.sh(
      'truncate -s 20000000 huge; mkfifo pipe; echo x > secret; chmod 0 secret; ln -s loop2 loop1; ln -s loop1 loop2',
    )
    const expected = {
      none: /not found/,
      binary: /not a text file/,
      huge: /sed, head, tail or grep/,
      pipe: /not a file/,
      secret: /Permission denied/,
      loop1: /not found/,
      'binary/x': /not found/,
    }
    for (const [path, words] of Object.entries(expected)) {
      const refused = await edit(desk, { command: 'view', path })
      assert.ok(refused.is_error, path)
      assert.match(textOf(refused), words)
      assert.match(textOf(refused), new RegExp(path.split('/')[0]!))
    }
  })
})

describe('file_editor: changes', suite, () => {
  test('create makes a file with its folders, and never overwrites one', async () => {
    const desk = await bench.desk()
    const made = await edit(desk, { command: 'create', path: 'new/deep/a.txt', file_text: 'x\n' })
    assert.deepEqual([made.is_error, made.prev_exist, made.old_content, made.new_content], [false, false, null, 'x\n'])
    assert.equal(`${await desk.get('new/deep/a.txt')}`, 'x\n')
    const refused = await edit(desk, { command: 'create', path: 'new/deep/a.txt', file_text: 'y\n' })
    assert.ok(refused.is_error)
    assert.match(textOf(refused), /str_replace/)
    assert.equal(`${await desk.get('new/deep/a.txt')}`, 'x\n')
  })

  test('str_replace changes the one place, and shows it', async () => {
    const desk = await bench.desk()
    await desk.put('a.py', 'def f():\n    return 1\n\ndef g():\n    return 2\n')
    const done = await edit(desk, { command: 'str_replace', path: 'a.py', old_str: 'return 2', new_str: 'return 3' })
    assert.equal(done.is_error, false)
    assert.match(textOf(done), /^ {5}5\t {4}return 3$/m)
    assert.equal(done.new_content, 'def f():\n    return 1\n\ndef g():\n    return 3\n')
    assert.equal(`${await desk.get('a.py')}`, done.new_content)
    await edit(desk, { command: 'str_replace', path: 'a.py', old_str: '\ndef g():\n    return 3\n' })
    assert.equal(`${await desk.get('a.py')}`, 'def f():\n    return 1\n')
  })

  test('str_replace of what is not there exactly once changes nothing and says where to look', async () => {
    const desk = await bench.desk()
    const content = 'a = 1\n\tif x:\n\t\tcall(first, second)\na = 1\naaa\n'
    await desk.put('a', content)
    const attempt = async (old_str: string) => {
      const refused = await edit(desk, { command: 'str_replace', path: 'a', old_str, new_str: '!' })
      assert.ok(refused.is_error, old_str)
      return textOf(refused)
    }
    assert.match(await attempt('a = 1'), /at lines 1, 4;/)
    assert.match(await attempt('aa'), /at lines 5, 5;/)
    assert.match(
      await attempt('    if x:\n        call(first, second)'),
      /other white space it stands at line 2.*\n {5}2\t\tif x:\n/,
    )
    assert.match(await attempt('call(first, seconds)'), /most similar lines are:\n {5}3\t\t\tcall\(first, second\)/)
    assert.match(await attempt('nothing like it'), /View the file first/)
    assert.match(await attempt(''), /empty/)
    assert.equal(`${await desk.get('a')}`, content)
  })

  test('insert puts whole lines after a line, at the beginning and at an unended end', async () => {
    const desk = await bench.desk()
    const cases: [string, number, string, string][] = [
      ['a\nb\n', 1, 'x', 'a\nx\nb\n'],
      ['a\nb\n', 0, 'x\ny\n', 'x\ny\na\nb\n'],
      ['a\nb\n', 2, 'x', 'a\nb\nx\n'],
      ['a\nb', 2, 'x\n', 'a\nb\nx'],
      ['a\r\nb\r\n', 1, 'x\ny', 'a\r\nx\r\ny\r\nb\r\n'],
      ['a\r\nb', 2, 'x', 'a\r\nb\r\nx'],
      ['', 0, 'x', 'x\n'],
    ]
    for (const [before, insert_line, new_str, after] of cases) {
      await desk.put('a', before)
      const done = await edit(desk, { command: 'insert', path: 'a', insert_line, new_str })
      assert.equal(done.new_content, after)
      assert.equal(`${await desk.get('a')}`, after)
    }
    assert.match(
      textOf(await edit(desk, { command: 'insert', path: 'a', insert_line: 9, new_str: 'x' })),
      /Give 0 to 1/,
    )
  })

  test('encoding, line ends and permissions are kept, and a link stays a link', async () => {
    const desk = await bench.desk()
    const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
    const cases: [string, Buffer, Buffer][] = [
      ['utf-8', Buffer.from('é old\n'), Buffer.from('é new\n')],
      ['bom', Buffer.from('\ufeffé old\n'), Buffer.from('\ufeffé new\n')],
      ['utf-16le', utf16('é old\r\n'), utf16('é new\r\n')],
      ['utf-16be', utf16('é old\n').swap16(), utf16('é new\n').swap16()],
      ['latin-1', Buffer.from('é old\n', 'latin1'), Buffer.from('é new\n', 'latin1')],
      ['crlf', Buffer.from('x\r\nold\r\ny\n'), Buffer.from('x\r\nnew\r\ny\n')],
      ['no end', Buffer.from('old'), Buffer.from('new')],
    ]
    const change = async ([name, before, after]: (typeof cases)[number]) => {
      await desk.put(name, before)
      const done = await edit(desk, { command: 'str_replace', path: name, old_str: 'old', new_str: 'new' })
      assert.equal(done.is_error, false, `${name}: ${textOf(done)}`)
      assert.deepEqual(await desk.get(name), after, name)
    }
    await Promise.all(cases.map(change))
    await desk.sh('printf "old\\n" > real; chmod 750 real; mkdir d; ln -s ../real d/link')
    await edit(desk, { command: 'str_replace', path: 'd/link', old_str: 'old', new_str: 'new' })
    assert.equal(`${await desk.sh('cat real; readlink d/link; stat -c %a real')}`, 'new\n../real\n750\n')
    const refused = await edit(desk, { command: 'str_replace', path: 'latin-1', old_str: 'new', new_str: 'ł' })
    assert.match(textOf(refused), /latin-1, which does not have/)
    assert.deepEqual(await desk.get('latin-1'), Buffer.from('é new\n', 'latin1'))
  })

  test('text of several lines matches a file with CRLF, whose ends it gets', async () => {
    const desk = await bench.desk()
    await desk.put('a', 'one\r\ntwo\r\nthree\r\n')
    const done = await edit(desk, { command: 'str_replace', path: 'a', old_str: 'one\ntwo\n', new_str: '1\n2\n3\n' })
    assert.equal(done.new_content, '1\r\n2\r\n3\r\nthree\r\n')
    await desk.put('mixed', 'a\r\nb\r\nc\nd\r\n')
    const mixed = await edit(desk, { command: 'str_replace', path: 'mixed', old_str: 'c\nd', new_str: 'x\ny\nd' })
    assert.equal(mixed.new_content, 'a\r\nb\r\nx\ny\nd\r\n')
  })

  test('names of any kind are files like others', async () => {
    const desk = await bench.desk()
    const editor = makeFileEditor()
    const names = [
      'two words',
      "it's",
      'a"b',
      'new\nline\n',
      '-rf',
      '$(id)',
      '`id`',
      '*',
      'ünï 日本',
      '\\n',
      'a;b',
      '%s',
      '--',
    ]
    const use = async (name: string) => {
      const made = await edit(desk, { command: 'create', path: name, file_text: 'old\n' }, editor)
      assert.equal(made.is_error, false, `${name}: ${textOf(made)}`)
      await edit(desk, { command: 'str_replace', path: name, old_str: 'old', new_str: name }, editor)
      assert.equal(`${await desk.get(name)}`, `${name}\n`)
      assert.ok(!(await edit(desk, { command: 'view', path: name }, editor)).is_error)
    }
    await Promise.all(names.map(use))
    for (const name of ['nul\0', '\ud800', 'x'.repeat(256)])
      assert.ok(
        (await edit(desk, { command: 'create', path: name, file_text: '' }, editor)).is_error,
        JSON.stringify(name),
      )
  })

  test('undo takes changes back one by one, up to the creation, and says when there is none', async () => {
    const desk = await bench.desk()
    const editor = makeFileEditor()
    const undo = () => edit(desk, { command: 'undo_edit', path: 'a' }, editor)
    assert.match(textOf(await undo()), /no edit/)
    await edit(desk, { command: 'create', path: 'a', file_text: '1\n' }, editor)
    await edit(desk, { command: 'str_replace', path: 'a', old_str: '1', new_str: '2' }, editor)
    await edit(desk, { command: 'insert', path: './a', insert_line: 1, new_str: '3' }, editor)
    const first = await undo()
    assert.deepEqual([first.old_content, first.new_content], ['2\n3\n', '2\n'])
    assert.equal((await undo()).new_content, '1\n')
    assert.match(textOf(await undo()), /Removed/)
    assert.equal(`${await desk.sh('ls -A')}`, '')
    assert.ok((await undo()).is_error)
  })

  test('undo does not lose what something else has written since', async () => {
    const desk = await bench.desk()
    const editor = makeFileEditor()
    await edit(desk, { command: 'create', path: 'a', file_text: '1\n' }, editor)
    await desk.sh('echo more >> a')
    assert.match(textOf(await edit(desk, { command: 'undo_edit', path: 'a' }, editor)), /changed by something else/)
    assert.equal(`${await desk.get('a')}`, '1\nmore\n')
  })

  test('what is remembered for undoing is bounded, the oldest going first', () => {
    const many = new EditHistory()
    for (let n = 0; n < 150; n += 1) many.add(`f${n}`, Buffer.from('x'), Buffer.from('y'))
    assert.deepEqual([many.last('f49'), many.last('f50')?.path], [undefined, 'f50'])
    const large = new EditHistory()
    for (let n = 0; n < 30; n += 1) large.add(`f${n}`, Buffer.alloc(1_000_000), Buffer.from('y'))
    assert.deepEqual([large.last('f9'), large.last('f10')?.path], [undefined, 'f10'])
  })

  test('a file that may not be written, or a folder, is left as it was', async () => {
    const desk = await bench.desk()
    await desk.sh('echo old > a; chmod 444 a; mkdir d; echo x > f')
    const refused = await edit(desk, { command: 'str_replace', path: 'a', old_str: 'old', new_str: 'new' })
    assert.match(textOf(refused), /Permission denied/)
    assert.equal(`${await desk.get('a')}`, 'old\n')
    for (const path of ['d', 'f/below', '/etc/new', '/'])
      assert.ok((await edit(desk, { command: 'create', path, file_text: '' })).is_error, path)
  })

  test('contents that an event could not hold are left out of it, and the file is changed all the same', async () => {
    const desk = await bench.desk()
    await desk.put('big', `${'x\n'.repeat(60_000)}end\n`)
    const done = await edit(desk, { command: 'str_replace', path: 'big', old_str: 'end', new_str: 'END' })
    assert.deepEqual([done.is_error, done.old_content, done.new_content], [false, null, null])
    assert.match(`${await desk.sh('tail -n 1 big')}`, /^END$/m)
  })

  test('repetitive text is searched in no time', async () => {
    const desk = await bench.desk()
    await desk.put('a', 'a'.repeat(2_000_000))
    const begun = performance.now()
    const old_str = `${'a'.repeat(32_000)}b${'a'.repeat(32_000)}`
    assert.ok((await edit(desk, { command: 'str_replace', path: 'a', old_str, new_str: '' })).is_error)
    assert.ok(performance.now() - begun < 5_000)
  })

  test('what a command needs is asked for by name; arguments of a wrong kind mean nothing', async () => {
    const desk = await bench.desk()
    await desk.put('a', 'x\n')
    for (const [command, name] of [
      ['create', 'file_text'],
      ['str_replace', 'old_str'],
      ['insert', 'insert_line'],
    ] as const)
      assert.match(textOf(await edit(desk, { command, path: 'a' })), new RegExp(`\`${name}\` is required`))
    const tool = makeFileEditor()
    for (const args of [
      {},
      { command: 'view' },
      { command: 'delete', path: 'a' },
      { command: 'insert', path: 'a', insert_line: -1 },
    ])
      assert.throws(() => tool.understand(args), Misunderstood)
  })

  test('an aborted signal is thrown, and nothing is changed', async () => {
    const abort = new AbortController()
    const desk = await bench.desk({ signal: abort.signal })
    const reason = new Error('enough')
    abort.abort(reason)
    await assert.rejects(edit(desk, { command: 'create', path: 'a', file_text: 'x' }), error => error === reason)
    assert.equal(`${await desk.sh('ls -A')}`, '')
  })

  test('different files are changed side by side', async () => {
    const desk = await bench.desk()
    const editor = makeFileEditor()
    const names = Array.from({ length: 8 }, (_, index) => `f${index}`)
    await Promise.all(names.map(path => edit(desk, { command: 'create', path, file_text: `${path} old\n` }, editor)))
    await Promise.all(
      names.map(path => edit(desk, { command: 'str_replace', path, old_str: 'old', new_str: 'new' }, editor)),
    )
    for (const name of names) assert.equal(`${await desk.get(name)}`, `${name} new\n`)
    await Promise.all(names.map(path => edit(desk, { command: 'undo_edit', path }, editor)))
    for (const name of names) assert.equal(`${await desk.get(name)}`, `${name} old\n`)
  })

  test('random edits do what they do to a text in memory, and undoing all of them leads back', async () => {
    const random = new Random()
    const word = () => random.pick(['a', 'b', 'ab', ' ', '\t', 'ü', '日', '🙂', '$&', '\\n'])
    const text = () => Array.from({ length: random.int(4) + 1 }, word).join('')
    for (let round = 0; round < count({ sample: 1, deep: 60 }); round += 1) {
      const desk = await bench.desk()
      const editor = makeFileEditor()
      const first = Array.from({ length: random.int(8) + 1 }, text)
      const ends = random.pick([['\n'], ['\r\n'], ['\n', '\r\n']])
      const versions = [first.map(line => line + random.pick(ends)).join('') + random.pick(['', 'x'])]
      await desk.put('f', versions[0]!)
      for (let step = 0; step < 12; step += 1) {
        const before = versions.at(-1)!
        const { args, after } = random.int(3) > 0 ? replacing(random, before, text) : inserting(random, before, text)
        const done = await edit(desk, { ...args, path: 'f' }, editor)
        const why = `seed ${random.seed}, round ${round}, step ${step}: ${JSON.stringify({ before, args })} ${textOf(done)}`
        assert.equal(done.is_error, after === undefined, why)
        if (after === undefined) continue
        assert.equal(done.new_content, after, why)
        versions.push(after)
      }
      assert.equal(`${await desk.get('f')}`, versions.at(-1), `seed ${random.seed}`)
      for (const version of versions.slice(0, -1).reverse())
        assert.equal((await edit(desk, { command: 'undo_edit', path: 'f' }, editor)).new_content, version)
      assert.equal(`${await desk.get('f')}`, versions[0])
    }
  })
})

/** A replacement, and what a text becomes by it; undefined when it must be refused. */
function replacing(random: Random, before: string, text: () => string) {
  const plain = before.replaceAll('\r\n', '\n')
  const characters = [...plain]
  const from = random.int(characters.length)
  const old_str = characters.slice(from, from + random.int(6) + 1).join('')
  const new_str = random.pick([text(), `${text()}\n${text()}`, ''])
  const args = { command: 'str_replace', old_str, new_str }
  const at = plain.indexOf(old_str)
  if (old_str === '' || old_str === new_str || at !== plain.lastIndexOf(old_str)) return { args, after: undefined }
  // Line by line: those that are touched get the ends of what is replaced, or of most lines; all others keep theirs.
  const ends = endsOf(before)
  const firstEnd = plain.slice(0, at).split('\n').length - 1
  const gone = old_str.split('\n').length - 1
  const come = new_str.split('\n').length - 1
  const model = ends.slice(firstEnd, firstEnd + gone)
  const end = before.includes('\r\n') ? most(gone > 0 ? model : ends) : '\n'
  ends.splice(firstEnd, gone, ...Array<string>(come).fill(end))
  const joined = (plain.slice(0, at) + new_str + plain.slice(at + old_str.length)).split('\n')
  return { args, after: joined.map((line, index) => line + (ends[index] ?? '')).join('') }
}

function inserting(random: Random, before: string, text: () => string) {
  const ends = endsOf(before)
  const lines = before.split(/\r?\n/)
  const unended = lines.at(-1) !== ''
  if (!unended) lines.pop()
  const insert_line = random.int(lines.length + 1)
  const new_str = text()
  const atUnended = unended && insert_line === lines.length
  lines.splice(insert_line, 0, new_str)
  ends.splice(atUnended ? insert_line - 1 : insert_line, 0, most(ends))
  const after = lines.map((line, index) => line + (ends[index] ?? '')).join('')
  return { args: { command: 'insert', insert_line, new_str }, after }
}

const endsOf = (text: string): string[] => text.match(/\r?\n/g) ?? []
const most = (ends: string[]): string => (ends.filter(end => end === '\r\n').length * 2 > ends.length ? '\r\n' : '\n')

describe('planning_file_editor', suite, () => {
  test('it reads anything and changes only the plan, not through a link either', async () => {
    const desk = await bench.desk()
    const tool = makePlanningFileEditor()
    const call = (args: Record<string, unknown>) => desk.call(tool, args, 'PlanningFileEditorObservation')
    await desk.put('code.ts', 'x\n')
    assert.equal((await call({ command: 'view', path: 'code.ts' })).is_error, false)
    for (const path of ['code.ts', 'sub/PLAN.md', '/workspace/PLAN.md', 'plan.md'])
      assert.match(textOf(await call({ command: 'create', path, file_text: '' })), /Only the plan/)
    const made = await call({ command: 'create', path: `${desk.folder}/PLAN.md`, file_text: '# Plan\n' })
    assert.equal(made.is_error, false)
    await call({ command: 'insert', path: 'PLAN.md', insert_line: 1, new_str: '1. look' })
    assert.equal(`${await desk.get('PLAN.md')}`, '# Plan\n1. look\n')
    await desk.sh('rm PLAN.md; ln -s code.ts PLAN.md')
    const refused = await call({ command: 'insert', path: 'PLAN.md', insert_line: 0, new_str: 'y' })
    assert.match(textOf(refused), /is a link/)
    assert.equal(`${await desk.get('code.ts')}`, 'x\n')
  })
})
