import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { startIn, stateOf } from '../support/access.ts'
import { attack } from '../support/attacks.ts'
import { EVIL_HOST, NO_BROWSER, REBOUND_HOST, signInBrowser, startBrowser, watchedPage } from '../support/browser.ts'
import { sampled } from '../support/sampled.ts'
import { aMessage, anOrder, DEEP, type TestServer, tempFolder } from '../support/server.ts'
import { NO_TERMINAL, Terminal } from '../support/terminal.ts'
import { until } from '../support/wait.ts'

const TITLE = 'canary-title-0123456789'
const MESSAGE = 'canary-message-0123456789'
const SECRET = 'canary-secret-0123456789'
const CANARY = /canary-/

let browser: Browser
before(async () => {
  if (!NO_BROWSER) browser = await startBrowser()
})
after(() => browser?.close())

const portOf = ({ url }: { url: string }) => new URL(url).port

/** A conversation and a secret that somebody might want. Its id is the conversation's. */
async function furnish(server: TestServer): Promise<string> {
  const { client } = server
  const { id } = await client.startConversation({ body: anOrder({ initial_message: aMessage(MESSAGE) }) })
  await server.atRest(id)
  await client.updateConversation({ params: { conversation_id: id }, body: { title: TITLE } })
  await client.putSecret({ body: { name: 'VICTIM', value: SECRET } })
  return id
}

describe('P6: no page of another site can drive the server', { skip: NO_BROWSER }, () => {
  let server: TestServer
  let attacker: Server
  let context: BrowserContext
  let conversation: string
  before(async () => {
    server = await startIn('local')
    conversation = await furnish(server)
    attacker = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Kittens</title><body>')
    })
    await once(attacker.listen(0, '127.0.0.1'), 'listening')
    // The victim is signed in, under both names of its own machine.
    context = await browser.newContext()
    const page = await context.newPage()
    for (const host of ['127.0.0.1', 'localhost'])
      assert.equal(await signInBrowser(page, `http://${host}:${portOf(server)}/`, server.key), 204)
    await page.close()
  })
  after(async () => {
    await context?.close()
    attacker?.close()
    await server?.[Symbol.asyncDispose]()
  })

  test('our own page reads and changes: what follows could succeed', async () => {
    const page = await context.newPage()
    await page.goto(server.url)
    const secret = await page.evaluate(async () => (await fetch('/api/settings/secrets/VICTIM')).text())
    assert.equal(secret, SECRET)
    const before = await stateOf(server)
    await page.evaluate(
      async id =>
        fetch(`/api/conversations/${id}`, {
          method: 'PATCH',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ tags: { changed: 'yes' } }),
        }),
      conversation,
    )
    assert.notDeepEqual(await stateOf(server), before)
    await page.close()
  })

  const pages = {
    'another site': () => `http://${EVIL_HOST}:${(attacker.address() as AddressInfo).port}/`,
    'another port of localhost': () => `http://localhost:${(attacker.address() as AddressInfo).port}/`,
    'another port of 127.0.0.1': () => `http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`,
    'no origin at all': () => 'data:text/html,<body>',
  }
  const hosts = ['127.0.0.1', 'localhost', '0.0.0.0', REBOUND_HOST]
  /** Where the cookie goes along, and where the name is a trick; the deep tier tries all. */
  const likely: Record<string, string[]> = {
    'another site': ['127.0.0.1', '0.0.0.0', REBOUND_HOST],
    'another port of localhost': ['localhost'],
    'another port of 127.0.0.1': ['127.0.0.1'],
    'no origin at all': ['127.0.0.1'],
  }
  const some = sampled(2)
  for (const [name, address] of Object.entries(pages))
    for (const host of DEEP ? hosts : likely[name]!)
      some(`a page of ${name} against ${host} reads nothing and changes nothing`, async () => {
        const before = await stateOf(server)
        const page = await context.newPage()
        await page.goto(address())
        const url = `http://${host}:${portOf(server)}`
        const seen = await page.evaluate(attack, { url, conversation, secret: 'VICTIM' })
        const frames = await Promise.all(page.frames().map(frame => frame.content().catch(() => '')))
        await page.close()
        assert.ok(seen.length > 100, `${seen.length} attempts`)
        assert.deepEqual(
          seen.filter(text => CANARY.test(text) || /Gantry|gantry_/.test(text)),
          [],
        )
        assert.deepEqual(
          frames.filter(html => CANARY.test(html)),
          [],
        )
        assert.deepEqual(await stateOf(server), before)
      })

  test('a name that was rebound to this machine gets a refusal, without data, and nothing more from there', async () => {
    const before = await stateOf(server)
    const page = await context.newPage()
    const url = `http://${REBOUND_HOST}:${portOf(server)}`
    for (const path of [
      '/',
      '/docs',
      '/web/main.js',
      '/api/conversations/search',
      `/api/conversations/${conversation}`,
    ]) {
      const response = await page.goto(url + path)
      assert.equal(response?.status(), 403, path)
      assert.doesNotMatch(await page.content(), CANARY)
    }
    // The refusal is a page of the attacker's origin: from here every request is same-origin.
    const seen = await page.evaluate(attack, { url, conversation, secret: 'VICTIM' })
    await page.close()
    assert.ok(seen.some(text => text.includes('403')))
    assert.deepEqual(
      seen.filter(text => CANARY.test(text)),
      [],
    )
    assert.deepEqual(await stateOf(server), before)
  })

  test('a link on another site does not open the page', async () => {
    const page = await context.newPage()
    await page.goto(pages['another site']())
    const [response] = await Promise.all([
      page.waitForResponse(response => response.url().startsWith(server.url)),
      page.evaluate(url => {
        location.href = `${url}/api/conversations/search`
      }, server.url),
    ])
    assert.equal(response.status(), 403)
    await page.close()
  })

  test('the victim is still signed in', async () => {
    const page = await context.newPage()
    await page.goto(server.url)
    assert.equal(await page.evaluate(async () => (await fetch('/api/settings/secrets')).status), 200)
    await page.close()
  })
})

describe('P6: our own page', { skip: NO_BROWSER }, () => {
  const strangers = (requested: string[], origin: string) =>
    requested.filter(url => new URL(url).host !== new URL(origin).host && !url.startsWith('data:'))

  test('the link from the terminal signs in, once, and leaves no trace of the token', {
    skip: NO_TERMINAL,
  }, async () => {
    const data = await tempFolder()
    await using terminal = new Terminal(data)
    const link = await terminal.link()
    const { origin } = new URL(link)
    const context = await browser.newContext()
    const { page, requested, complaints } = await watchedPage(context)
    await page.goto(link)
    await until('the page signed in', async () => (await context.cookies(origin)).length === 1)
    const [cookie] = await context.cookies(origin)
    assert.ok(cookie?.httpOnly && cookie.sameSite === 'Strict' && cookie.path === '/')
    assert.equal(await page.evaluate(async () => (await fetch('/api/settings/secrets')).status), 200)
    assert.equal(await page.evaluate(() => document.cookie), '')
    assert.doesNotMatch(page.url(), /token/)
    assert.doesNotMatch(requested.slice(1).join('\n'), /token/)
    assert.deepEqual(complaints, [])

    const other = await browser.newContext()
    const second = await other.newPage()
    await second.goto(link)
    await second.getByRole('dialog').waitFor()
    assert.deepEqual(await other.cookies(origin), [])
    await Promise.all([context.close(), other.close()])
    await terminal.stop()
    await rm(data, { recursive: true, force: true })
  })

  test('in local mode it works at once, asks nobody else for anything and does not complain', async () => {
    await using server = await startIn('local')
    const conversation = await furnish(server)
    const context = await browser.newContext()
    for (const path of ['/', `/#/c/${conversation}`, '/docs', '/#/settings']) {
      // The settings show secrets, which need the key even here.
      if (path.endsWith('settings')) await signInBrowser(await context.newPage(), server.url, server.key)
      const { page, requested, complaints } = await watchedPage(context)
      await page.goto(server.url + path)
      await until(
        'the page showed something',
        async () => ((await page.locator('main').textContent()) ?? '').length > 20,
      )
      if (!path.startsWith('/docs')) await page.getByText(TITLE).first().waitFor()
      assert.deepEqual(complaints, [], path)
      assert.ok(requested.length > 3)
      assert.deepEqual(strangers(requested, server.url), [], path)
      await page.close()
    }
    await context.close()
  })

  test('in key mode it asks for the key, refuses a wrong one and takes the right one', async () => {
    await using server = await startIn('key')
    await furnish(server)
    const context = await browser.newContext()
    const { page, requested } = await watchedPage(context)
    await page.goto(server.url)
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    assert.doesNotMatch(await page.content(), CANARY)
    await dialog.getByLabel(/session key/i).fill('wrong')
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.getByRole('alert').waitFor()
    assert.deepEqual(await context.cookies(), [])
    await dialog.getByLabel(/session key/i).fill(server.key)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(TITLE).first().waitFor()
    assert.equal((await context.cookies()).length, 1)
    assert.deepEqual(strangers(requested, server.url), [])
    await context.close()
  })
})
