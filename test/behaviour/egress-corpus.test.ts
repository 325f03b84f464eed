import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Egress } from '../../src/sandbox/sandbox.ts'
import { converse, Destination, Gate, OPEN, socksAddress, socksCode, WAYS } from '../support/egress.ts'
import { inParallel } from '../support/exchange.ts'

const PUBLIC = '93.184.216.34'

const LOOPBACK = words(`
  127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 127.127.127.127 2130706433 017700000001 0x7f000001 0x7f.1 0x7f.0.0.1
  0x7F.0x0.0x0.0x1 0177.0.0.1 0177.1 0177.0.1 00000177.1 127.0x1 127.0.0.0x1 0x7f.0.1 ::1 0:0:0:0:0:0:0:1 0000::0001 [::1]
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:7f00:1 [::ffff:127.0.0.1] ::127.0.0.1 ::7f00:1
  64:ff9b::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 2002:7f00:0001::1 2001:0:7f00:1:: 2001::80ff:fffe ::ffff:0:127.0.0.1
  localhost LOCALHOST localhost. LocalHost. a.localhost a.b.localhost. 0.0.0.0 0 0x0 0.0 00.0 :: [::] 0:0:0:0:0:0:0:0
  ::ffff:0.0.0.0 0.0.0.1 0.255.255.255 0x7f.0x000001 127.0.0.01 127.00.0x0.1 0177.0x0.0.01 [0:0::ffff:127.0.0.1] 127.16777215`)
const METADATA = words(`
  169.254.169.254 169.254.169.254. 0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.43518 169.16689662
  0251.254.169.254 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe
  2002:a9fe:a9fe:: 2001:0:a9fe:a9fe:: fd00:ec2::254 fd00:0ec2:0:0:0:0:0:254 FD00:EC2::254 fd00:ec2::23 fd20:ce::254
  100.100.100.200 0x646464c8 168.63.129.16 169.254.170.2 169.254.170.23 169.254.169.253 169.254.169.123 192.0.0.192
  169.254.0.23 169.254.42.42 fe80::a9fe:a9fe 0xA9FEA9FE 0xa9fe.0xa9fe 169.0xfe.0251.254 ::ffff:169.254.170.2 64:ff9b::100.100.100.200 [fd00:ec2::254] metadata.google.internal METADATA.google.internal. instance-data
  169.254.169.254.nip.io meta.evil.example meta6.evil.example mapped.evil.example`)
const PRIVATE = words(`
  10.0.0.1 10.1 10.255.255.255 0xa.1 012.0.0.1 167772161 172.16.0.1 172.31.255.254 172.20.10.1 0xac100001 192.168.0.1
  192.168.1 192.168.257 3232235521 0xc0a80001 0300.0250.0.1 100.64.0.1 100.127.255.255 198.18.0.1 198.19.0.1 192.0.2.1
  198.51.100.7 203.0.113.9 fc00::1 fd12:3456::1 fec0::1 ::ffff:10.0.0.1 ::ffff:192.168.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1
  2001:db8::1 3fff::1 10.0x0.0.1 0x0a000001 172.1048577 0254.020.0.1 192.0xa8.1 ::ffff:ac10:1 64:ff9b::c0a8:1 2002:a00:1:: 2002:c0a8:1:: 10.0.0.1.nip.io 192-168-0-1.nip.io ten.evil.example ula.evil.example`)
const OTHERS = words(`
  169.254.0.1 169.254.1.1 0xa9fe0101 fe80::1 FE80::1 febf::1 224.0.0.1 239.1.1.1 255.255.255.255 0xffffffff 4294967295
  240.0.0.1 250.1.1.1 192.0.0.8 192.88.99.1 ff02::1 ff05::2 100::1 2001:10::1 2001:20::1 5f00::1 4000::1 c000::1 ::2 ::ffff:0
  ::ffff:255.255.255.255 ::ffff:224.0.0.1 link.evil.example cast.evil.example none.evil.example zone.evil.example`)
/** Spellings that two programs could read as two hosts. A name that is fine is hidden in most. */
const MISLEADING = [
  ...words(`
    user@good.example good.example@127.0.0.1 127.0.0.1@good.example user:x@good.example good.example%00.evil
    good.example%2eevil 127.0.0.1%00 127.0.0.1%2f good%2eexample %31%32%37.0.0.1 good.example%0d%0a
    good.example\\evil good.example\\@127.0.0.1 127.0.0.1\\.good.example fe80::1%eth0 [fe80::1%eth0] fe80::1%25eth0
    [fe80::1%25lo] [::1%lo] ::1%1 [127.0.0.1] [good.example] [::1 ::1] [[::1]] [] :::1 1::2::3 ::ffff:127.0.0.256 ::12345
    good.example.. ..good.example .good.example good..example 127.0.0.1.. . .. 256.256.256.256 127.0.0.256 1.2.3.4.5 127.0.0.1.2
    08.0.0.1 09 0x7g.1 127.0.0.0x 999999999999 4294967296 0x100000000 a.127 good.example.1 x.0x7f good.example.0
    good,example good!example good|example good^example {good.example} <good.example> good"example good\`example *.example *
    good=example good;example good&example good$example good+example good(example) 'good.example' ~good.example`),
  'good.example ',
  'good.example 127.0.0.1',
  'good.example\t',
  'good.example\0',
  'good.example\0.evil.example',
  'evil.example\0.good.example',
  '127.0.0.1\0.good.example',
  '\0',
  'good.example\r\nX-Injected: 1',
  'good.example\n127.0.0.1',
  'good.example\x7f',
  'good.example\x1b[31m',
  'good.example#@127.0.0.1',
  'good.example:80#@127.0.0.1',
  'http://good.example',
  '//good.example',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(120)}toolong.example`,
]
/** In a URL those are a host and what comes after it; as a host they are nothing. */
const URLS = ['good.example/..', 'good.example/@127.0.0.1', 'good.example?@127.0.0.1', ' good.example']
/** What a table of characters turns into something else: digits, dots, slashes, what is left out. */
const LOOKALIKES = words(`
  ①②⑦.⓪.⓪.① ①②⑦.0.0.1 １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ⑯⑨.254.169.254 ①⑥⑨.②⑤④.①⑥⑨.②⑤④ 𝟏𝟐𝟕.𝟎.𝟎.𝟏
  𝟙𝟚𝟟.𝟘.𝟘.𝟙 ¹²⁷.⁰.⁰.¹ ₁₂₇.₀.₀.₁ 127.0.0.¹ ⓛocalhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ localhoſt LOCALHOST。 loc\u{ad}alhost local\u{200b}host 0ｘ7f.1
  good.example／evil good.example＠evil good.example？evil good.example＃evil good.example：80 ％00good.example
  ⒈⒉⒊⒋ good.example℀evil good.example℆evil \u{ff0e}good.example ｅvil.example。 good．example．evil\u{ff0f}x`).map(
  text => text.replace(/\\u\{(\w+)\}/g, (_all, code) => String.fromCodePoint(Number.parseInt(code, 16))),
)
const PORTS = words('0 00080 080 65536 99999 -1 +80 0x50 80a 8e1 80:81 80@evil 80.0 %38%30 ８０ 4294967376 2147483728')

const names: Record<string, readonly string[]> = {
  'good.example': [PUBLIC],
  evil: [PUBLIC],
  'evil.example': ['127.0.0.1'],
  localhost: ['127.0.0.1', '::1'],
  'a.localhost': ['127.0.0.1'],
  'a.b.localhost': ['::1'],
  'metadata.google.internal': ['169.254.169.254'],
  'instance-data': ['169.254.169.254'],
  '169.254.169.254.nip.io': ['169.254.169.254'],
  'meta.evil.example': ['169.254.169.254'],
  'meta6.evil.example': ['fd00:ec2::254'],
  'mapped.evil.example': ['::ffff:169.254.169.254'],
  '10.0.0.1.nip.io': ['10.0.0.1'],
  '192-168-0-1.nip.io': ['192.168.0.1'],
  'ten.evil.example': ['10.0.0.1'],
  'ula.evil.example': ['fd12::1'],
  'link.evil.example': ['169.254.7.7', 'fe80::7'],
  'cast.evil.example': ['224.0.0.1', '255.255.255.255'],
  'none.evil.example': ['0.0.0.0', '::'],
  'zone.evil.example': ['fe80::1%eth0'],
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** No case of these opens a way, by any of the three ways to ask, and nothing is connected to. */
async function allRefused(cases: readonly string[], egress: Egress, port = 80): Promise<void> {
  await using destination = await Destination.open()
  await using gate = await Gate.open({ egress, names, destination })
  const asked = cases.flatMap(host => Object.values(WAYS).map(way => ({ host, way })))
  const outcomes = await inParallel(asked, async ({ host, way }) => ({ host, ...(await way(gate, host, port)) }), 8)
  const wrong = outcomes.filter(({ open, refused }) => open || !refused)
  assert.deepEqual(wrong, [])
  assert.deepEqual(gate.connections, [])
  assert.deepEqual(destination.requests, [])
}

describe('T-49: what is not to be reached from inside is not, by CONNECT, plain HTTP or SOCKS5', () => {
  const corpus = { LOOPBACK, METADATA, PRIVATE, OTHERS, MISLEADING, LOOKALIKES }
  test('the corpus has its size', () => {
    const hosts = Object.values(corpus).flat()
    assert.equal(new Set(hosts).size, hosts.length)
    assert.ok(hosts.length >= 300, String(hosts.length))
  })
  for (const [name, cases] of Object.entries(corpus)) {
    test(`${name}, open`, () => allRefused(cases, OPEN))
    test(`${name}, one host listed`, () => allRefused(cases, { mode: 'hosts', hosts: ['good.example'] }))
    test(`${name}, wildcards listed`, () =>
      allRefused(cases, { mode: 'hosts', hosts: ['*.example', '*.nip.io', '*.localhost', '*.internal', '*', '*.1'] }))
  }
  const every = ['0.0.0.0/0', '::/0', '*.example', '*.nip.io', '*.internal', 'instance-data', ...METADATA]
  test('METADATA, listed in every way there is', () => allRefused(METADATA, { mode: 'hosts', hosts: every }))
  test('METADATA, on another port', () => allRefused(METADATA, { mode: 'open', hosts: every }, 8080))
  test('everything, without a network', () =>
    allRefused([...Object.values(corpus).flat(), 'good.example', PUBLIC], { mode: 'none' }))

  test('a port that is none', async () => {
    await using gate = await Gate.open({ names })
    for (const port of PORTS) {
      const host = `good.example:${port}`
      for (const line of [`CONNECT ${host} HTTP/1.1`, `GET http://${host}/ HTTP/1.1`, `GET http://${host} HTTP/1.1`]) {
        assert.match(await converse(gate, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`), /^HTTP\/1\.1 400 /, line)
      }
    }
    assert.ok((await WAYS.SOCKS5!(gate, 'good.example', 0)).refused)
    assert.deepEqual(gate.connections, [])
  })

  test('what is a host only to who reads on', async () => {
    await using gate = await Gate.open({ names })
    for (const host of URLS) {
      assert.equal((await WAYS.SOCKS5!(gate, host, 80)).open, false)
      if (!host.startsWith(' ')) assert.equal((await WAYS.CONNECT!(gate, host, 80)).open, false)
    }
    assert.deepEqual(gate.connections, [])
  })

  test('addresses that SOCKS5 has in bytes', async () => {
    await using gate = await Gate.open({ egress: { mode: 'open', hosts: [] } })
    const mapped = (...v4: number[]) => [...new Array(10).fill(0), 255, 255, ...v4]
    const cases = [
      [127, 0, 0, 1],
      [0, 0, 0, 0],
      [10, 0, 0, 1],
      [169, 254, 169, 254],
      [...new Array(15).fill(0), 1],
      new Array(16).fill(0),
      mapped(127, 0, 0, 1),
      mapped(169, 254, 169, 254),
      [0xfd, 0, 0x0e, 0xc2, ...new Array(10).fill(0), 2, 0x54],
      [0xfe, 0x80, ...new Array(13).fill(0), 1],
      [0, 0x64, 0xff, 0x9b, ...new Array(8).fill(0), 127, 0, 0, 1],
    ]
    for (const bytes of cases) {
      assert.equal(socksCode(await converse(gate, socksAddress(bytes, 80))), 2, String(bytes))
    }
    assert.deepEqual(gate.connections, [])
    assert.equal(gate.refusals.length, cases.length)
  })

  test('the same ways open for what may be reached', async () => {
    await using destination = await Destination.open()
    await using gate = await Gate.open({
      egress: { mode: 'hosts', hosts: ['good.example', '1.1.1.1', '::1'] },
      names,
      destination,
    })
    for (const host of ['good.example', 'GOOD.example.', '1.1.1.1', '0x1010101', '[::1]']) {
      for (const way of Object.values(WAYS)) {
        const outcome = await way(gate, host, 80)
        assert.ok(outcome.open, `${host} by ${outcome.way}: ${outcome.said}`)
      }
    }
    assert.deepEqual([...new Set(gate.connections.flatMap(({ addresses }) => addresses))], [PUBLIC, '1.1.1.1', '::1'])
  })
})

describe('T-49: what was judged is what is connected to', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    test(`a name whose answer changes is asked for once (${name})`, async () => {
      await using destination = await Destination.open()
      await using gate = await Gate.open({ names: { 'rebind.example': [[PUBLIC], ['127.0.0.1']] }, destination })
      assert.ok((await way(gate, 'rebind.example', 80)).open)
      assert.deepEqual(gate.lookups, ['rebind.example'])
      assert.deepEqual(gate.connections, [{ addresses: [PUBLIC], port: 80 }])
      assert.equal((await way(gate, 'rebind.example', 80)).open, false)
      assert.equal(gate.connections.length, 1)
    })
    test(`of a mixed answer only what is allowed is used (${name})`, async () => {
      await using destination = await Destination.open()
      const mixed = ['127.0.0.1', '169.254.169.254', PUBLIC, '10.0.0.1', '1.1.1.1']
      await using gate = await Gate.open({ names: { 'mixed.example': mixed }, destination })
      assert.ok((await way(gate, 'mixed.example', 80)).open)
      assert.deepEqual(gate.connections, [{ addresses: [PUBLIC, '1.1.1.1'], port: 80 }])
    })
    test(`a name that is not listed is not even looked up (${name})`, async () => {
      await using gate = await Gate.open({ egress: { mode: 'hosts', hosts: ['good.example'] }, names })
      assert.equal((await way(gate, 'data-to-leak.evil.example', 80)).open, false)
      assert.deepEqual(gate.lookups, [])
    })
  }

  test('a redirect to where one may not go leads nowhere', async () => {
    const away = { status: 302, headers: { Location: 'http://169.254.169.254/latest/meta-data' } }
    await using destination = await Destination.open(() => away)
    await using gate = await Gate.open({ names, destination })
    const first = await WAYS['plain HTTP']!(gate, 'good.example', 80)
    assert.match(first.said, /^HTTP\/1\.1 302 [\s\S]*\r\nLocation: http:\/\/169\.254\.169\.254/)
    assert.equal(gate.connections.length, 1)
    assert.equal((await WAYS['plain HTTP']!(gate, '169.254.169.254', 80)).open, false)
    assert.equal(gate.connections.length, 1)
  })

  test("the server's own port is not reached at any address of this machine, listed or not", async () => {
    await using destination = await Destination.open()
    const { port } = destination
    const egress: Egress = { mode: 'open', hosts: ['127.0.0.0/8', '::1', 'localhost', 'self.example'] }
    await using gate = await Gate.open({
      egress,
      names: { ...names, 'self.example': ['127.0.0.1'] },
      forbidden: [{ port }],
    })
    for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', 'self.example', '::1', '::ffff:127.0.0.1']) {
      for (const way of Object.values(WAYS)) assert.equal((await way(gate, host, port)).open, false, host)
    }
    assert.deepEqual(gate.connections, [])
    assert.match(gate.refusals[0]!.why, /the server itself/)
    await using other = await Destination.open()
    assert.ok((await WAYS.CONNECT!(gate, 'self.example', other.port)).open)
  })
})
