import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { fail, finish, ModelServer, say } from '../support/model-server.ts'
import { LAPTOP, looks, type OpenPage, openPage, PHONE, picture, violations } from '../support/page.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

describe('the page: first run, new conversations, sandboxes', { skip: NO_BROWSER }, () => {
  let server: TestServer
  let model: ModelServer
  let browser: Browser
  let opened: OpenPage
  let page: Page
  let isKeyGood = false
  before(async () => {
    model = await ModelServer.start(({ body }) =>
      !isKeyGood ? fail('auth') : body.tools?.length ? finish('scripted and done') : say('OK'),
    )
    server = await TestServer.start()
    browser = await startBrowser()
    opened = await openPage(browser, server)
    page = opened.page
    page.setDefaultTimeout(20_000)
  })
  after(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await model?.close()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const task = () => page.getByRole('textbox', { name: 'Task' })
  const here = () => page.url().split('/c/')[1]!.split(/[/?]/)[0]!

  test('somebody new gets from the first view to a finished task with the demo, and is asked on the way', async () => {
    await page.getByRole('heading', { name: 'Welcome to Gantry' }).waitFor()
    assert.deepEqual(await violations(page), [])
    await picture(page, 'welcome')
    await button('Show me around').click()
    await task().press('Enter')
    await page.waitForURL(/#\/c\//)
    const asking = page.getByRole('region', { name: 'Waiting for you' })
    await asking.waitFor()
    await asking.getByRole('button', { name: /^Accept/ }).click()
    await page.locator('.conversation-head').getByText('Finished').waitFor()
    await picture(page, 'finished')
    assert.deepEqual(await violations(page), [])
  })

  test('a folder that is not granted is refused with how to grant it, and nothing typed is lost', async () => {
    await page.goto(`${server.url}/#/new`)
    await task().fill('look at my home')
    const mine = await mkdtemp(join(homedir(), 'not-granted-'))
    await page.getByLabel('Folder', { exact: true }).fill(mine)
    await button('Start').click()
    await page.getByRole('alert').getByText('--workspace').waitFor()
    assert.equal(await task().inputValue(), 'look at my home')
    await page.reload()
    assert.equal(await task().inputValue(), 'look at my home')
    await page.getByLabel('Folder', { exact: true }).fill('/workspace/project')
    await rm(mine, { recursive: true })
  })

  test('a start in a sandbox of its own shows its progress; one that fails says why', async () => {
    await page.goto(`${server.url}/#/new`)
    await page.getByRole('radio', { name: 'A repository' }).check()
    await page.getByLabel('Repository', { exact: true }).fill('http://127.0.0.1:9/nobody/nothing')
    await task().fill('what is this?')
    await button('Start').click()
    await page.getByRole('region', { name: 'Progress' }).waitFor()
    await page.getByRole('alert').waitFor()
    assert.notEqual((await page.getByRole('alert').innerText()).trim(), '')
    await picture(page, 'start-failed')
    await page.getByRole('radio', { name: 'A new sandbox' }).check()
    await button('Start').click()
    await page.waitForURL(/#\/c\//)
    const { confirmation_policy } = await server.client.getConversation({ params: { conversation_id: here() } })
    assert.equal(confirmation_policy.kind, 'ConfirmRisky')
  })

  test('sandboxes are listed, started, paused, resumed and deleted', async () => {
    await page.goto(`${server.url}/#/sandboxes`)
    await page.getByRole('heading', { name: 'default' }).waitFor()
    const before = await page.locator('.sandbox').count()
    await button('Start a sandbox').click()
    await until('it is listed', async () => (await page.locator('.sandbox').count()) === before + 1)
    const ids = await page.locator('.sandbox h2').allInnerTexts()
    const { items } = await server.client.searchSandboxes({ query: { limit: 100 } })
    const newest = items.toSorted((a, b) => b.created_at.localeCompare(a.created_at))[0]!
    assert.ok(ids.includes(newest.id))
    const card = page.locator('.sandbox', { hasText: newest.id })
    await card.getByRole('button', { name: 'Pause' }).click()
    await card.getByText('Paused', { exact: true }).waitFor()
    await card.getByRole('button', { name: 'Resume' }).click()
    await card.getByText('Running', { exact: true }).waitFor()
    await card.getByText('May reach the public internet.').waitFor()
    assert.deepEqual(await violations(page), [])
    await picture(page, 'sandboxes')
    await card.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await until('it is gone', async () => (await page.locator('.sandbox').count()) === before)
  })

  test('a wrong key is told in words; a good one makes the model the default', async () => {
    await page.route('**/api/llm/models/verified', route =>
      route.fulfill({ json: { models: { openai: ['scripted'] } } }),
    )
    // The catalogue's providers are not here: the request is sent on to the scripted one.
    await page.route('**/api/profiles/**', async route => {
      const body = route.request().postDataJSON()
      if (body?.llm) body.llm = { ...model.llm(), ...body.llm, base_url: model.llm().base_url }
      await route.continue({ ...(body && { postData: JSON.stringify(body) }) })
    })
    await page.goto(`${server.url}/#/new`)
    await page.getByLabel('Provider').selectOption('openai')
    await page.getByLabel('API key').fill('sk-wrong')
    await button('Test and use').click()
    await page.getByRole('alert').waitFor()
    isKeyGood = true
    await page.getByLabel('API key').fill('sk-good')
    await button('Test and use').click()
    await page.getByRole('heading', { name: 'New conversation' }).waitFor()
    await page.unrouteAll()
    const { active_profile } = await server.client.listProfiles()
    assert.equal(active_profile, 'openai-scripted')
    assert.doesNotMatch(await page.content(), /sk-good/)
    await page.getByRole('radio', { name: 'A folder' }).check()
    await task().fill('hello')
    await task().press('Enter')
    await page.getByText('scripted and done').first().waitFor()
  })

  test('fits a phone, and the dark', async () => {
    for (const options of looks(PHONE, { ...LAPTOP, colorScheme: 'dark' as const }))
      for (const place of ['/new', '/sandboxes']) {
        const other = await openPage(browser, server, place, options)
        await other.page.getByRole('heading', { level: 1 }).waitFor()
        assert.deepEqual(await violations(other.page), [])
        const wide = await other.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        assert.ok(wide <= 0, `${place} is ${wide} px too wide`)
        await picture(other.page, `${place.slice(1)}-${options === PHONE ? 'phone' : 'dark'}`)
        assert.deepEqual(other.complaints, [])
        await other.close()
      }
  })

  test('it complained of nothing but what it was refused', () => {
    assert.deepEqual(
      opened.complaints.filter(text => !/status of 4(22|00)/.test(text)),
      [],
    )
  })
})
