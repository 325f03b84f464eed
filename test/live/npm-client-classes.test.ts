import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { exported } from '../support/npm-client.ts'
import { CLASSES, FUNCTIONS, PLACES, SERVERLESS, usedIn, words } from '../support/npm-client-table.ts'

const sorted = (names: Iterable<string>) => [...names].sort()
const source = (place: string) => readFile(join(import.meta.dirname, `npm-client-${place}.test.ts`), 'utf8')

describe('the table of what the published npm client can do', () => {
  test('knows everything that it exports, and nothing else', () => {
    const known = [...Object.keys(CLASSES), ...Object.values(FUNCTIONS).flatMap(words), ...words(SERVERLESS)]
    assert.deepEqual(sorted(known), sorted(Object.keys(exported())))
  })

  test('knows every method once', () => {
    const methods = exported()
    for (const [name, uses] of Object.entries(CLASSES))
      assert.deepEqual(sorted(Object.values(uses).flatMap(words)), sorted(methods[name]!), name)
  })

  test('names places that call what it says of them: each checks that itself, or has the call in its text', async () => {
    for (const place of PLACES) {
      const text = await source(place)
      if (text.includes(`unused(called, '${place}')`)) continue
      for (const name of usedIn(place)) assert.ok(text.includes(`client.${name.split('.')[1]}(`), `${name} in ${place}`)
    }
  })
})
