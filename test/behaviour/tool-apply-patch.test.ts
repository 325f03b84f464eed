import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeApplyPatch } from '../../src/agent/tools/apply-patch.ts'
import { applyHunks, parsePatch } from '../../src/agent/tools/patch.ts'
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
const apply = (desk: Desk, ...lines: string[]) =>
  desk.call(
    makeApplyPatch(),
    { patch: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n') },
    'ApplyPatchObservation',
  )
/** What a patch makes of one text. */
const patched = (content: string, ...lines: string[]) => {
  const [step] = parsePatch(['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch'].join('\n'))
  assert.ok(step?.type === 'update')
  return applyHunks('f', content, step.hunks)
}
/** Every file below, with what is in it. */
const contents = async (desk: Desk): Promise<Record<string, string>> => {
  const listed = `${await desk.sh('find . -type f -exec sh -c \'for f; do printf "%s\\0" "$f"; cat "$f"; printf "\\0"; done\' sh {} +')}`
  const parts = listed.split('\0').slice(0, -1)
  return Object.fromEntries(
    parts.flatMap((part, index) => (index % 2 === 0 ? [[part.slice('./'.length), parts[index + 1]!]] : [])),
  )
}

describe('apply_patch', suite, () => {
  test('files are added, changed, moved and deleted by one patch', async () => {
    const desk = await bench.desk()
    await desk.put('a.txt', 'one\ntwo\nthree\n')
    await desk.put('move me', 'x\ny\n')
    await desk.put('gone', 'z\n')
    await desk.sh('chmod 755 "move me"')
    const done = await apply(
      desk,
      '*** Add File: new/n.txt',
      '+first',
      '+',
      '+last',
      '*** Update File: a.txt',
      '@@',
      ' one',
      '-two',
      '+2',
      ' three',
      '*** Update File: move me',
      '*** Move to: d/moved',
      ' x',
      '-y',
      '+Y',
      '*** Delete File: gone',
    )
    assert.equal(done.is_error, false, textOf(done))
    assert.deepEqual(await contents(desk), {
      'a.txt': 'one\n2\nthree\n',
      'd/moved': 'x\nY\n',
      'new/n.txt': 'first\n\nlast\n',
    })
    assert.equal(`${await desk.sh('stat -c %a d/moved')}`, '755\n')
    assert.equal(done.fuzz, 0)
    assert.deepEqual(done.commit, {
      changes: {
        'new/n.txt': { type: 'add', old_content: null, new_content: 'first\n\nlast\n', move_path: null },
        'a.txt': { type: 'update', old_content: 'one\ntwo\nthree\n', new_content: 'one\n2\nthree\n', move_path: null },
        'move me': {
          type: 'update',
          old_content: 'x\ny\n',
          new_content: 'x\nY\n',
          move_path: `${desk.folder}/d/moved`,
        },
        gone: { type: 'delete', old_content: 'z\n', new_content: null, move_path: null },
      },
    })
  })

  test('a patch that cannot be applied as a whole changes nothing', async () => {
    const desk = await bench.desk()
    for (const name of ['a', 'b']) await desk.put(name, 'one\ntwo\n')
    await desk.sh('mkdir d; echo x > d/x; ln -s loop loop')
    const before = await contents(desk)
    const good = ['*** Update File: a', ' one', '-two', '+2']
    const bad: [string[], RegExp][] = [
      [['*** Update File: b', ' one', '-three'], /not in .*\/b/],
      [['*** Update File: none', '-x'], /not found/],
      [['*** Delete File: none'], /not found/],
      [['*** Delete File: d'], /not a file/],
      [['*** Delete File: loop'], /not found/],
      [['*** Add File: b', '+x'], /exists already/],
      [['*** Update File: b', '*** Move to: d/x', '-two'], /exists already/],
      [['*** Update File: ./a', '-one'], /twice/],
      [['*** Add File: a/below', '+x'], /directory/],
      [['*** Add File: /usr/x', '+x'], /denied/],
    ]
    for (const [lines, words] of bad) {
      const refused = await apply(desk, ...good, '*** Add File: new/n', '+n', ...lines)
      assert.ok(refused.is_error, lines.join())
      assert.match(textOf(refused), words)
      assert.deepEqual(await contents(desk), before, lines.join())
    }
  })

  test('names of any kind and files with CRLF, marks and modes are patched like others', async () => {
    const desk = await bench.desk()
    const names = ['two words', "it's", '-rf', '$(id)', 'ünï 日本', '*']
    for (const name of names) await desk.put(name, '\ufeffone\r\ntwo\r\n')
    await desk.sh('chmod 700 ./*')
    const done = await apply(desk, ...names.flatMap(name => [`*** Update File: ${name}`, ' one', '-two', '+2', '+3']))
    assert.equal(done.is_error, false, textOf(done))
    assert.deepEqual(Object.keys(done.commit?.changes ?? {}).toSorted(), names.toSorted())
    for (const name of names) assert.deepEqual(await desk.get(name), Buffer.from('\ufeffone\r\n2\r\n3\r\n'), name)
    assert.equal(`${await desk.sh('stat -c %a ./* | sort -u')}`, '700\n')
  })

  test('contents that an event could not hold are left out of it', async () => {
    const desk = await bench.desk()
    await desk.put('big', `${'x'.repeat(99)}\n`.repeat(3000))
    const done = await apply(desk, '*** Update File: big', '+end')
    assert.deepEqual(done.commit?.changes.big, {
      type: 'update',
      old_content: null,
      new_content: null,
      move_path: null,
    })
    assert.equal(`${await desk.sh('tail -n 1 big')}`, 'end\n')
  })

  test('an interrupted patch is taken back', async () => {
    const abort = new AbortController()
    const reason = new Error('enough')
    let writes = 0
    const desk = await bench.desk({
      signal: abort.signal,
      sandbox: async () => ({
        ...bench.sandbox,
        exec: command => {
          // Only what is written needs to be fed; the second write is interrupted.
          if (command.stdin && command.argv[2]?.includes('mv -f') && ++writes === 2) abort.abort(reason)
          return bench.sandbox.exec(command)
        },
      }),
    })
    for (const name of ['a', 'b']) await desk.put(name, 'one\n')
    const changes = ['a', 'b'].flatMap(name => [`*** Update File: ${name}`, '-one', '+two'])
    await assert.rejects(apply(desk, ...changes), error => error === reason)
    assert.ok(writes >= 2)
    assert.deepEqual(await contents(desk), { a: 'one\n', b: 'one\n' })
  })

  test('random trees become what a patch between them says', async () => {
    const random = new Random()
    for (let round = 0; round < count({ sample: 3, deep: 100 }); round += 1) {
      const desk = await bench.desk()
      const from: Record<string, string> = {}
      for (let n = 0; n < 4; n += 1) from[`${random.pick(['', 'd/', 'd/e/'])}f${n}`] = randomText(random)
      await desk.put('.keep', '')
      for (const [name, text] of Object.entries(from)) await desk.put(name, text)
      const to: Record<string, string> = {}
      const lines: string[] = []
      for (const [name, text] of Object.entries(from)) {
        const fate = random.int(5)
        if (fate === 0) lines.push(`*** Delete File: ${name}`)
        else if (fate === 1) to[name] = text
        else {
          const changed = randomChange(random, text)
          const target = fate === 2 ? `moved/${name}` : name
          if (changed === text && target === name) {
            to[name] = text
            continue
          }
          to[target] = changed
          lines.push(`*** Update File: ${name}`, ...(fate === 2 ? [`*** Move to: ${target}`] : []))
          if (changed !== text) lines.push(...hunksBetween(text, changed))
        }
      }
      to['added/x'] = randomText(random)
      lines.push('*** Add File: added/x', ...linesOf(to['added/x']).map(line => `+${line}`))
      const why = `seed ${random.seed}, round ${round}\n${lines.join('\n')}`
      const done = await apply(desk, ...lines)
      assert.equal(done.is_error, false, `${why}\n${textOf(done)}`)
      assert.deepEqual(await contents(desk), { ...to, '.keep': '' }, why)
    }
  })
})

/** Lines of few kinds, so that many are alike; every one ends. */
function randomText(random: Random): string {
  return Array.from(
    { length: random.int(30) + 1 },
    (_, index) => `${random.pick(['a', 'b', '', '  x', '+y', '-z', '*** w'])}${random.int(3) ? '' : index}\n`,
  ).join('')
}

function randomChange(random: Random, text: string): string {
  const lines = linesOf(text)
  for (let n = 0; n < 3; n += 1)
    lines.splice(random.int(lines.length + 1), random.int(3), ...(random.int(2) ? ['new', `${n}`] : []))
  return lines.map(line => `${line}\n`).join('')
}

const linesOf = (text: string): string[] => text.split('\n').slice(0, -1)

/** One hunk from the first to the last line that differs, with all that is around it: it can be meant for one place only. */
function hunksBetween(before: string, after: string): string[] {
  const [old, made] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < Math.min(old.length, made.length) && old[head] === made[head]) head += 1
  let tail = 0
  while (tail < Math.min(old.length, made.length) - head && old.at(-1 - tail) === made.at(-1 - tail)) tail += 1
  return [
    '@@',
    ...old.slice(0, head).map(line => ` ${line}`),
    ...old.slice(head, old.length - tail).map(line => `-${line}`),
    ...made.slice(head, made.length - tail).map(line => `+${line}`),
    ...old.slice(old.length - tail).map(line => ` ${line}`),
    '*** End of File',
  ]
}

describe('patches', () => {
  const code = 'class A:\n  def f():\n    pass\n\nclass B:\n  def f():\n    pass\n'

  test('what stands after @@ says which of several places is meant', () => {
    assert.equal(patched(code, '@@', '   def f():', '-    pass', '+    1').content, code.replace('pass', '1'))
    const second = patched(code, '@@ class B:', '   def f():', '-    pass', '+    1')
    assert.deepEqual(second, { content: 'class A:\n  def f():\n    pass\n\nclass B:\n  def f():\n    1\n', fuzz: 0 })
    assert.equal(patched(code, '@@ class B:', '@@ def f():', '-    pass', '+    1').content, second.content)
    assert.equal(
      patched(code, '@@ -5,3 +5,3 @@', ' class B:', '   def f():', '-    pass', '+    1').content,
      second.content,
    )
    assert.equal(patched(code, '   def f():', '-    pass', '+    1', '*** End of File').content, second.content)
  })

  test('several hunks go from top to bottom', () => {
    const done = patched('1\n2\n3\n4\n5\n', '@@', '-1', '+one', '@@', ' 4', '-5', '+five', '+six')
    assert.deepEqual(done, { content: 'one\n2\n3\n4\nfive\nsix\n', fuzz: 0 })
    assert.throws(() => patched('1\n2\n3\n', '@@', '-3', '+x', '@@', '-1', '+y'), /after line 3/)
  })

  test('other white space is found and counted, and lines that stay are the file’s own', () => {
    assert.deepEqual(patched('\tif x:  \n\t\ty\n', ' if x:', '-y', '+\t\tz'), {
      content: '\tif x:  \n\t\tz\n',
      fuzz: 100,
    })
    assert.deepEqual(patched('a  \nb\n', ' a', '-b', '+c'), { content: 'a  \nc\n', fuzz: 1 })
  })

  test('lines without a place go to the end, or after what stands after @@', () => {
    assert.equal(patched('a\nb\n', '+c').content, 'a\nb\nc\n')
    assert.equal(patched('a\nb\n', '@@ a', '+c').content, 'a\nc\nb\n')
    assert.equal(patched('', '+c').content, 'c\n')
  })

  test('a last line without an end stays without one', () => {
    assert.equal(patched('a\nb', '-b', '+c').content, 'a\nc')
    assert.equal(patched('a\nb', '+c').content, 'a\nb\nc')
    assert.equal(patched('a\nb', '-a').content, 'b')
  })

  test('what models add around and between is not in the way', () => {
    const steps = parsePatch(
      '```\n\n*** Begin Patch\n\n*** Delete File: a\n\n*** Add File: b\n+x\n\n*** Update File: c\n@@\n\n-x\n+y\n\n*** End Patch\n```\n',
    )
    assert.deepEqual(
      steps.map(({ type, path }) => `${type} ${path}`),
      ['delete a', 'add b', 'update c'],
    )
    assert.ok(steps[2]?.type === 'update')
    assert.deepEqual(steps[2].hunks[0]?.lines, [
      { sign: ' ', text: '' },
      { sign: '-', text: 'x' },
      { sign: '+', text: 'y' },
    ])
    assert.equal(parsePatch('*** Begin Patch\r\n*** Add File: b\r\n+x\r\n*** End Patch\r\n')[0]?.path, 'b')
  })

  test('what is no patch is refused with the line that is wrong', () => {
    const bad: [string, RegExp][] = [
      ['', /begins with/],
      ['*** Begin Patch\n*** Add File: a\n+x', /may have been cut/],
      ['*** Begin Patch\n*** End Patch', /no file/],
      ['*** Begin Patch\nhello\n*** End Patch', /Line 1.*hello/],
      ['*** Begin Patch\n*** Add File: a\nx\n*** End Patch', /Line 2.*"x"/],
      ['*** Begin Patch\n*** Update File: a\n x\nwrong\n*** End Patch', /Line 3.*wrong/],
      ['*** Begin Patch\n*** Update File: a\n*** End Patch', /nothing to change/],
      ['*** Begin Patch\n*** Update File: \n-x\n*** End Patch', /names no file/],
      ['*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch', /Line 2/],
    ]
    for (const [patch, words] of bad) assert.throws(() => parsePatch(patch), words, patch)
  })
})
