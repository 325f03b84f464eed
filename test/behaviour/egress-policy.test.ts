import assert from 'node:assert/strict'
import type { LookupFunction } from 'node:net'
import { describe, test } from 'node:test'
import { canonicalHost, type Scope, scopeOf, splitAuthority } from '../../src/sandbox/egress/address.ts'
import { proxyEnv } from '../../src/sandbox/egress/environment.ts'
import { checkUrl, guarded, NotCalled } from '../../src/sandbox/egress/guard.ts'
import { REFUSALS_KEPT } from '../../src/sandbox/egress/limits.ts'
import { admit, choose, isForbidden, parseEntry } from '../../src/sandbox/egress/policy.ts'
import { Refusals } from '../../src/sandbox/egress/refusals.ts'
import type { Egress } from '../../src/sandbox/sandbox.ts'

describe('a host has one spelling', () => {
  const spellings: [string, string | undefined][] = [
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['exa_mple-1.com', 'exa_mple-1.com'],
    ['faß.de', 'xn--fa-hia.de'],
    ['ⓔxample.com', 'example.com'],
    ['127.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['①②⑦.⓪.⓪.①', '127.0.0.1'],
    ['127。0。0。1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['[::FFFF:7f00:1]', '127.0.0.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ...['', '.', '..', 'a..b', '.a', 'a..', '08.0.0.1', '1.2.3.4.5', '256.0.0.1', '1.2.3.4..', 'a.1', 'a.0x7f'].map(no),
    ...['a b', 'a\0b', 'a\tb', 'a\r\nb', 'a%2eb', 'u@a', 'a/b', 'a\\b', 'a?b', 'a#b', 'a:b', 'a／b', 'a＠b', '*.a'].map(
      no,
    ),
    ...['fe80::1%eth0', '[fe80::1%25eth0]', '[::1', '::1]', '[127.0.0.1]', '[a]', '[]', ':::', '[[::1]]'].map(no),
    ...['a,b', 'a!b', '<a>', 'a|b', `${'a'.repeat(64)}.b`, `${'a.'.repeat(127)}b`].map(no),
  ]
  function no(text: string): [string, undefined] {
    return [text, undefined]
  }
  for (const [text, host] of spellings) {
    test(`${JSON.stringify(text).slice(0, 40)} is ${host ?? 'no host'}`, () => assert.equal(canonicalHost(text), host))
  }
})

describe('an address is what the registries say', () => {
  const scopes: Record<Scope, string> = {
    public:
      '1.1.1.1 93.184.216.34 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 2606:4700::1111 2a00:1450::1 64:ff9b::101:101',
    loopback: '127.0.0.1 127.255.255.254 ::1 64:ff9b::7f00:1',
    private:
      '10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255 198.18.0.1 198.19.255.255 192.0.2.1 198.51.100.1 203.0.113.1 fc00::1 fdff::1 fec0::1 64:ff9b::a00:1 64:ff9b:1::1 2001:db8::1 3fff::1',
    'link-local': '169.254.0.1 169.254.255.255 fe80::1 febf::1',
    metadata:
      '169.254.169.254 169.254.170.2 169.254.170.23 169.254.0.23 169.254.42.42 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fe80::a9fe:a9fe 64:ff9b::a9fe:a9fe ::169.254.169.254 2002:a9fe:a9fe::1 2001:0:a9fe:a9fe:: 2001:0:808:808:0:0:5601:5601 ::ffff:0:a9fe:a9fe',
    reserved:
      '0.0.0.0 0.1.2.3 192.0.0.1 192.88.99.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::2 ::127.0.0.1 ff02::1 100::1 2001::1 2001:20::1 2002:7f00:1:: 2002:101:101:: 5f00::1 4000::1 e000::1 ::ffff:0:7f00:1',
  }
  for (const [scope, addresses] of Object.entries(scopes)) {
    for (const address of addresses.split(' ')) {
      test(`${address} is ${scope}`, () => assert.equal(scopeOf(canonicalHost(address)!), scope))
    }
  }
  test('a public address that happens to look like a wrapped one is public', () => {
    assert.equal(scopeOf('2600:a9fe:a9fe::1'), 'public')
    assert.equal(scopeOf('2600::a9fe:a9fe'), 'public')
  })
})

describe('host and port', () => {
  const cases: [string, number | undefined, unknown][] = [
    ['a:80', undefined, { host: 'a', port: 80 }],
    ['[::1]:80', undefined, { host: '[::1]', port: 80 }],
    ['a', 80, { host: 'a', port: 80 }],
    ['a:65535', 80, { host: 'a', port: 65535 }],
    ...[
      'a',
      'a:',
      ':80',
      '',
      'a:0',
      'a:65536',
      'a:080',
      'a:+80',
      'a:0x50',
      'a:80:80',
      'a:80 ',
      '[::1',
      '[::1]80',
      '::1:80',
    ].map((text): [string, undefined, undefined] => [text, undefined, undefined]),
  ]
  for (const [text, usual, result] of cases) {
    test(`${JSON.stringify(text)} is ${result ? 'taken' : 'refused'}`, () =>
      assert.deepEqual(splitAuthority(text, usual), result))
  }
})

describe('the policy', () => {
  const nobody = () => false
  const reach = (egress: Egress, host: string, addresses: string[], port = 443) => {
    const verdict = choose(egress, { host, port }, addresses, nobody)
    return verdict.allow ? verdict.addresses : verdict.why
  }
  const hosts = (...list: string[]): Egress => ({ mode: 'hosts', hosts: list })
  const open = (...list: string[]): Egress => ({ mode: 'open', hosts: list })
  const PUBLIC = '93.184.216.34'

  test('none refuses everything', () => {
    assert.deepEqual(admit({ mode: 'none' }, { host: 'a.example', port: 1 }), {
      allow: false,
      why: 'no network is allowed',
    })
    assert.equal(reach({ mode: 'none' }, PUBLIC, [PUBLIC]), 'no network is allowed')
  })

  const matches: [string, string, number, boolean][] = [
    ['a.example', 'a.example', 443, true],
    ['A.Example.', 'a.example', 443, true],
    ['a.example', 'b.a.example', 443, false],
    ['a.example', 'xa.example', 443, false],
    ['a.example', 'a.example.evil', 443, false],
    ['a.example:443', 'a.example', 443, true],
    ['a.example:443', 'a.example', 80, false],
    ['*.a.example', 'b.a.example', 443, true],
    ['*.a.example', 'c.b.a.example', 443, true],
    ['*.a.example', 'a.example', 443, false],
    ['*.a.example', 'ba.example', 443, false],
    ['*.a.example:8443', 'b.a.example', 8443, true],
    ['*.a.example:8443', 'b.a.example', 443, false],
    ['*', 'a.example', 443, false],
    ['*.', 'a.example', 443, false],
    ['a.*', 'a.example', 443, false],
    ['*.0.0.1', '127.0.0.1', 443, false],
    ['*.1', '1.1.1.1', 443, false],
    ['', 'a.example', 443, false],
    [' a.example ', 'a.example', 443, true],
    ['https://a.example', 'a.example', 443, false],
    ['1.1.1.1', '1.1.1.1', 443, true],
    ['1.1.1.1:53', '1.1.1.1', 443, false],
    ['0x1010101', '1.1.1.1', 443, true],
    ['1.1.1.0/24', '1.1.1.1', 443, true],
    ['1.1.1.0/24:443', '1.1.1.1', 443, true],
    ['1.1.1.0/24:80', '1.1.1.1', 443, false],
    ['1.1.1.0/24', '1.1.2.1', 443, false],
    ['1.1.1.0/33', '1.1.1.0', 443, false],
    ['2606:4700::/32', '2606:4700::1', 443, true],
    ['[2606:4700::/32]:443', '2606:4700::1', 443, true],
    ['2606:4700::1', '2606:4700::1', 443, true],
    ['[2606:4700::1]:443', '2606:4700::1', 443, true],
    ['[2606:4700::1]:80', '2606:4700::1', 443, false],
    ['::ffff:1.1.1.1', '1.1.1.1', 443, true],
    ['::ffff:1.1.1.0/24', '1.1.1.1', 443, false],
    ['0.0.0.0/0', '2606:4700::1', 443, false],
    ['bücher.example', 'xn--bcher-kva.example', 443, true],
  ]
  for (const [entry, host, port, allowed] of matches) {
    test(`the entry ${JSON.stringify(entry)} ${allowed ? 'allows' : 'does not allow'} ${host}:${port}`, () =>
      assert.equal(admit(hosts(entry), { host, port }).allow, allowed))
  }
  test('an entry that says nothing is known as such', () => {
    for (const text of ['*', 'a b', 'https://a', 'a:99999', 'a/b', '1.1.1.1/33', '']) {
      assert.equal(parseEntry(text), undefined, text)
    }
  })

  test('a public address is reached', () => {
    assert.deepEqual(reach(open(), 'a.example', [PUBLIC]), [PUBLIC])
    assert.deepEqual(reach(hosts('*.example'), 'a.example', [PUBLIC]), [PUBLIC])
  })
  test('an address that is not public needs an entry of its own, for the host or for the address', () => {
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.1.1', 'fd00::1', '100.64.0.1']) {
      assert.match(String(reach(open(), 'a.example', [address])), /needs an entry of its own/, address)
      assert.match(String(reach(hosts('*.example'), 'a.example', [address])), /needs an entry of its own/, address)
      assert.match(String(reach(open('b.example', 'a.example:80'), 'a.example', [address])), /entry of its own/)
      assert.deepEqual(reach(open('a.example'), 'a.example', [address]), [address])
      assert.deepEqual(reach(open(address), 'a.example', [address]), [address])
      assert.deepEqual(reach(hosts('*.example', address), 'a.example', [address]), [address])
      assert.deepEqual(reach(hosts('a.example:443'), 'a.example', [address]), [address])
    }
    assert.deepEqual(reach(open('10.0.0.0/8'), 'a.example', ['10.1.2.3']), ['10.1.2.3'])
  })
  test('metadata services and reserved addresses are never reached, whatever is listed', () => {
    for (const address of ['169.254.169.254', 'fd00:ec2::254', '168.63.129.16', '0.0.0.0', '::', '255.255.255.255']) {
      const egress = open('a.example', address, '0.0.0.0/0', '::/0')
      assert.match(String(reach(egress, 'a.example', [address])), /never reachable/, address)
      assert.match(String(reach(egress, address, [address])), /never reachable/, address)
    }
  })
  test('of several addresses, only those that are allowed are left, in order', () => {
    const addresses = ['10.0.0.1', PUBLIC, '169.254.169.254', '::ffff:127.0.0.1', 'fe80::1%eth0', 'junk', '1.1.1.1']
    assert.deepEqual(reach(open(), 'a.example', addresses), [PUBLIC, '1.1.1.1'])
  })
  test('a host without a usable address is refused', () => {
    assert.equal(reach(open(), 'a.example', []), 'it has no usable address')
    assert.equal(reach(open(), 'a.example', ['fe80::1%eth0']), 'it has no usable address')
  })
  test('what is forbidden is not reached, whatever is listed, also through a translator', () => {
    const egress = open('a.example', '127.0.0.1')
    const isOurs = (address: string, port: number) =>
      isForbidden([{ port: 443 }, { address: '5.6.7.8', port: 80 }], new Set(['1.2.3.4']), address, port)
    const verdict = (address: string, port: number) =>
      choose(egress, { host: 'a.example', port }, [address], isOurs).allow
    for (const address of ['127.0.0.1', '127.8.8.8', '::1', '1.2.3.4', '64:ff9b::102:304', '::ffff:1.2.3.4']) {
      assert.equal(verdict(address, 443), false, address)
      assert.equal(verdict(address, 80), true, address)
    }
    assert.equal(verdict('5.6.7.8', 443), true)
    assert.equal(verdict('5.6.7.8', 80), false)
  })
})

describe('refusals', () => {
  const refusal = { sandbox: 's', host: 'a', port: 1, why: 'no', command: 'c', at: 1 }
  test('the same is counted, the newest comes first', () => {
    const refusals = new Refusals()
    refusals.record(refusal)
    refusals.record({ ...refusal, port: 2, at: 2 })
    refusals.record({ ...refusal, command: undefined, at: 3 })
    refusals.record({ ...refusal, at: 4, why: 'still no' })
    assert.deepEqual(refusals.of('s'), [
      { ...refusal, at: 4, why: 'still no', count: 2 },
      { ...refusal, command: undefined, at: 3, count: 1 },
      { ...refusal, port: 2, at: 2, count: 1 },
    ])
  })
  test('each sandbox has its own, they are bounded, and they can be forgotten', () => {
    const refusals = new Refusals()
    for (let port = 1; port <= REFUSALS_KEPT + 5; port++) refusals.record({ ...refusal, port })
    refusals.record({ ...refusal, sandbox: 't' })
    assert.equal(refusals.of('s').length, REFUSALS_KEPT)
    assert.equal(refusals.of('s')[0]!.port, REFUSALS_KEPT + 5)
    assert.equal(refusals.of('s').at(-1)!.port, 6)
    refusals.forget('s')
    assert.deepEqual(refusals.of('s'), [])
    assert.equal(refusals.of('t').length, 1)
  })
})

describe('what the server calls for a person', () => {
  const answering =
    (...addresses: string[]): LookupFunction =>
    (_name, _options, callback) =>
      callback(
        null,
        addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
  const ask = (lookup: LookupFunction, all: boolean) =>
    new Promise((resolve, reject) => {
      guarded(lookup)('a.example', { all }, (error, ...found) => (error ? reject(error) : resolve(found)))
    })

  test('loopback and private addresses may be called, metadata services never', async () => {
    assert.deepEqual(await ask(answering('127.0.0.1', '10.0.0.1'), false), ['127.0.0.1', 4])
    assert.deepEqual(await ask(answering('169.254.169.254', '::ffff:169.254.169.254', '10.0.0.1'), true), [
      [{ address: '10.0.0.1', family: 4 }],
    ])
    await assert.rejects(ask(answering('169.254.169.254', 'fd00:ec2::254'), true), NotCalled)
    await assert.rejects(ask(answering('::ffff:a9fe:a9fe'), false), NotCalled)
  })
  test('an error of the resolver is passed on', async () => {
    const failing: LookupFunction = (_name, _options, callback) => callback(new Error('no such name'), [])
    await assert.rejects(ask(failing, true), /no such name/)
  })
  test('a URL that names such an address in any form is refused', () => {
    for (const host of [
      '169.254.169.254',
      '0xa9fea9fe',
      '2852039166',
      '0251.0376.0251.0376',
      '169.254.43518',
      '[fd00:ec2::254]',
    ]) {
      assert.throws(() => checkUrl(`http://${host}/latest`), NotCalled, host)
    }
    for (const host of ['[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '①⑥⑨.254.169.254', '169.254.169.254.']) {
      assert.throws(() => checkUrl(`https://${host}:8443/`), NotCalled, host)
    }
    for (const host of ['127.0.0.1:11434', 'localhost', '10.0.0.1', 'api.example', '[::1]'])
      checkUrl(`http://${host}/v1`)
  })
})

test('every variable of the proxy carries the user, and its own loopback goes without', () => {
  const { MAVEN_OPTS, GRADLE_OPTS, ...env } = proxyEnv(3128, 'c-1/ä')
  const proxy = 'http://c-1%2F%C3%A4:x@127.0.0.1:3128'
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
  assert.deepEqual(env, {
    ...Object.fromEntries(names.map(name => [name, proxy])),
    no_proxy: 'localhost,127.0.0.1,::1',
    NO_PROXY: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
    GIT_HTTP_PROXY_AUTHMETHOD: 'basic',
  })
  assert.match(MAVEN_OPTS!, /-Dhttps\.proxyHost=127\.0\.0\.1 -Dhttps\.proxyPort=3128/)
  assert.equal(GRADLE_OPTS, MAVEN_OPTS)
})
