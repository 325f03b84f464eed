import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HIDDEN, Masker } from '../../src/policy/mask.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

const ALPHABET = [...'abcXYZ019 +/=_-!"\'%&?*()\\é€']
const secretOf = (random: Random, length = 8 + random.int(40)) => {
  const text = Array.from({ length }, () => random.pick(ALPHABET)).join('')
  return `s${text}z`
}

describe('P7: secrets in output', () => {
  test('are hidden as they are, in base64 at every place, in hex and in URL form', () => {
    const random = new Random()
    for (let turn = count({ sample: 300, deep: 10_000 }); turn > 0; turn--) {
      const secret = secretOf(random)
      const masker = new Masker([secret])
      const bytes = Buffer.from(secret)
      const forms = [
        secret,
        bytes.toString('hex'),
        bytes.toString('hex').toUpperCase(),
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
        bytes.toString('base64'),
        bytes.toString('base64url'),
      ]
      for (const form of forms)
        assert.equal(masker.mask(`<${form}>`), `<${HIDDEN}>`, `seed ${random.seed}: ${secret}: ${form}`)
      for (const encoding of ['base64', 'base64url'] as const) {
        const before = Buffer.alloc(random.int(7), 1)
        const after = Buffer.alloc(random.int(7), 2)
        const encoded = Buffer.concat([before, bytes, after]).toString(encoding)
        const masked = masker.mask(encoded)
        assert.ok(masked.includes(HIDDEN), `seed ${random.seed}: ${secret} in ${encoded}`)
        // Beside it only what belongs to the neighbours, and a character they share, is left.
        assert.ok(masked.length - HIDDEN.length <= Math.ceil((before.length + after.length) * (4 / 3)) + 6)
      }
    }
  })
  test('are hidden when line breaks were put into them', () => {
    const secret = 'k'.repeat(20) + 'secret-with-many-characters'.repeat(6)
    const wrapped = Buffer.from(secret).toString('base64').replace(/.{76}/g, '$&\n')
    assert.equal(new Masker([secret]).mask(wrapped), HIDDEN)
    const key = '-----BEGIN KEY-----\nabcdefghijklmnopqrstuvwxyz\n0123456789012345678901234567\n-----END KEY-----\n'
    const masker = new Masker([key])
    assert.equal(masker.mask(key.replaceAll('\n', '\r\n')), `${HIDDEN}\r\n`)
    assert.equal(masker.mask('line: 0123456789012345678901234567.'), `line: ${HIDDEN}.`)
  })
  test('that overlap or hold each other leave nothing behind', () => {
    assert.equal(new Masker(['abcdefgh', 'efghijkl']).mask('-abcdefghijkl-'), `-${HIDDEN}-`)
    assert.equal(new Masker(['abcdef', 'abcdefghij']).mask('abcdefghij abcdef'), `${HIDDEN} ${HIDDEN}`)
    assert.equal(new Masker(['abcdef']).mask('abcdefabcdef'), HIDDEN + HIDDEN)
  })
  test('of a few characters are hidden only where they stand alone', () => {
    const masker = new Masker(['1234', 'a.b'])
    assert.equal(masker.mask('pin 1234, not 12345 or x1234'), `pin ${HIDDEN}, not 12345 or x1234`)
    assert.equal(masker.mask('a.b acb'), `${HIDDEN} acb`)
  })
  test('are hidden once: what is hidden stays as it is', () => {
    const masker = new Masker(['secret', 'hidden', 'hid'])
    const once = masker.mask('my secret is hidden')
    assert.equal(once, `my ${HIDDEN} is ${HIDDEN}`)
    assert.equal(masker.mask(once), once)
  })
  test('are hidden in every text of a value, but not in what readers know it by', () => {
    const masker = new Masker(['topsecret', 'view'])
    assert.deepEqual(masker.maskDeep({ a: ['x topsecret', 1, null, true], kind: 'topsecret', command: 'view' }), {
      a: [`x ${HIDDEN}`, 1, null, true],
      kind: 'topsecret',
      command: 'view',
    })
    assert.deepEqual(masker.maskDeep({ command: 'cat view' }), { command: `cat ${HIDDEN}` })
  })
  test('short ones with signs in them are hidden as words', () => {
    assert.equal(new Masker(['-1', 'a-b', '.*']).mask('x -1 a-b ab .*'), `x ${HIDDEN} ${HIDDEN} ab ${HIDDEN}`)
  })
  test('blank values hide nothing', () => {
    assert.equal(new Masker(['', ' ', '\n']).mask('a b\nc'), 'a b\nc')
    assert.equal(new Masker([]).mask('abc'), 'abc')
  })
  test('are found fast: two hundred of them in a megabyte', () => {
    const random = new Random()
    const secrets = Array.from({ length: 200 }, () => secretOf(random))
    const masker = new Masker(secrets)
    const filler = Array.from({ length: 1000 }, () => random.int(36 ** 6).toString(36)).join(' ')
    const text = filler.repeat(Math.ceil((1024 * 1024) / filler.length)) + secrets[7]
    const begun = performance.now()
    assert.ok(masker.mask(text).endsWith(HIDDEN))
    assert.ok(performance.now() - begun < 1000, `${performance.now() - begun} ms`)
  })
})
