import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { FakeProvider, TOKEN } from '../support/git-providers.ts'
import { Authorizing } from '../support/mcp-authorization.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { ModelServer, say } from '../support/model-server.ts'
import { sh, writing } from '../support/packages.ts'
import { LAPTOP, looks, type OpenPage, openPage, PHONE, violations } from '../support/page.ts'
import { TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const KEY = 'sk-S3cr3t-of-the-model'
const HEADER = 'Bearer S3cr3t-of-the-server'

const PLACES =
  'models models?add=1 agent confirmation secrets mcp mcp?add=1 skills hooks git approvals webhooks appearance about'.split(
    ' ',
  )

/** The headings that say that a place is drawn, not only begun. */
const drawn = (page: Page) => page.locator('.settings-body :is(form, .group, .settings-list, .empty)').first().waitFor()

describe('the settings', { skip: NO_BROWSER }, () => {
  let model: ModelServer
  let mcp: Listener
  let server: TestServer
  let browser: Browser
  let open: OpenPage
  let page: Page
  const heard: string[] = []
  /** What the server answered, as text. */
  const answers: string[] = []

  before(async () => {
    model = await ModelServer.start(() => say('Hello.'))
    mcp = await Listener.start(streamable(headers => heard.push(String(headers.authorization))))
    server = await TestServer.start()
    browser = await startBrowser()
    open = await openPage(browser, server, '/settings')
    page = open.page
    page.setDefaultTimeout(10_000)
    page.on('response', async response => {
      const type = response.headers()['content-type'] ?? ''
      if (type.startsWith('application/json')) answers.push(await response.text().catch(() => ''))
    })
  })
  after(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await mcp?.[Symbol.asyncDispose]()
    await model?.close()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const visit = async (place: string) => {
    await page.goto(`${server.url}/#/settings/${place}`)
    const link = page.locator(`.settings-nav [aria-current][href="#/settings/${place.split('?')[0]}"]`)
    await link.waitFor({ state: 'attached' })
    await drawn(page)
  }
  /** And taken away, so that the next is another. */
  const told = async (text: string) => {
    const toast = page.locator('.toast', { hasText: text })
    await toast.getByRole('button', { name: 'Dismiss' }).click()
    await toast.waitFor({ state: 'detached' })
  }
  /** Neither shown nor told. */
  const isNowhere = async (secret: string) => {
    assert.ok(!(await page.content()).includes(secret))
    assert.ok(answers.every(answer => !answer.includes(secret)))
  }

  test('a model is added, tested and made the default, and its key is never seen again', async () => {
    await page.getByRole('link', { name: 'Add a model' }).click()
    await page.getByLabel('Model', { exact: true }).fill('openai/scripted')
    await page.getByLabel('API key').fill(KEY)
    await page.getByLabel('Address').fill(model.openai)
    await page.getByText('Unsaved changes').waitFor()
    await button('Test').click()
    await page.getByText('It works').waitFor()
    await button('Save').click()
    await told('Saved')

    const row = page.getByRole('listitem').filter({ hasText: 'openai/scripted' })
    await row.getByText('Default').waitFor()
    const { active_profile } = await server.client.listProfiles()
    assert.equal(active_profile, 'scripted')
    const { agent_settings } = await server.client.getSettings()
    assert.equal(agent_settings.llm.model, 'openai/scripted')

    await row.getByRole('button', { name: 'Test scripted' }).click()
    await row.getByText('It works').waitFor()
    assert.equal(model.requests.at(-1)!.headers.authorization, `Bearer ${KEY}`)
    await isNowhere(KEY)
  })

  test('a change of a model keeps its key and all that was left alone, and reaches the settings', async () => {
    await page.getByRole('link', { name: 'Edit scripted' }).click()
    await page.getByText('More', { exact: true }).click()
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Name', { exact: true }).fill('mine')
    await button('Save').click()
    await told('Saved')
    const { config } = await server.client.getProfile({ params: { name: 'mine' } })
    assert.equal(config.temperature, 0.5)
    assert.equal(config.base_url, model.openai)
    const { agent_settings } = await server.client.getSettings()
    assert.equal(agent_settings.llm.temperature, 0.5)
    await page.getByRole('button', { name: 'Test mine' }).click()
    await page.getByText('It works').waitFor()
    assert.equal(model.requests.at(-1)!.headers.authorization, `Bearer ${KEY}`)
  })

  test('a key that is removed on purpose is gone', async () => {
    await server.client.saveProfile({
      params: { name: 'spare' },
      body: { llm: { model: 'anthropic/x', api_key: 'sk-spare' } },
    })
    await visit('models?edit=spare')
    await page.getByRole('button', { name: 'Remove' }).click()
    await button('Save').click()
    await told('Saved')
    const { api_key_set } = await server.client.getProfile({ params: { name: 'spare' } })
    assert.equal(api_key_set, false)
    await page.getByText('It has no key yet').waitFor()
  })

  test('what is changed is saved, there after a reload, and all else is as it was', async () => {
    await visit('agent')
    const before = await server.client.getSettings()
    await page.getByLabel('Steps in a run').fill('42')
    await page.getByLabel('Budget for a conversation').fill('1.5')
    await page.getByLabel('For every conversation').fill('Write tests first.')
    await page.getByLabel('Sub-agents').check()
    await button('Save').click()
    await told('Saved')

    await page.reload()
    await drawn(page)
    assert.equal(await page.getByLabel('Steps in a run').inputValue(), '42')
    assert.equal(await page.getByLabel('Budget for a conversation').inputValue(), '1.5')
    assert.equal(await page.getByLabel('For every conversation').inputValue(), 'Write tests first.')
    const now = await server.client.getSettings()
    assert.ok(now.agent_settings.agent_kind === 'openhands' && before.agent_settings.agent_kind === 'openhands')
    const { current_datetime: _, ...context } = before.agent_settings.agent_context
    const { current_datetime: __, ...contextNow } = now.agent_settings.agent_context
    assert.deepEqual(contextNow, { ...context, system_message_suffix: 'Write tests first.' })
    assert.deepEqual(now, {
      ...before,
      max_iterations: 42,
      max_budget_per_task: 1.5,
      conversation_settings: { ...before.conversation_settings, max_iterations: 42 },
      agent_settings: {
        ...before.agent_settings,
        enable_sub_agents: true,
        agent_context: now.agent_settings.agent_context,
      },
    })
  })

  test('a refusal stands at the field it is about', async () => {
    await page.getByLabel('From this many events on').fill('3')
    await button('Save').click()
    const field = page.getByLabel('From this many events on')
    await page.locator('[aria-invalid]').waitFor()
    await page.getByText('Too small').waitFor()
    await until('it has the focus', () => field.evaluate(input => input === document.activeElement))
    await button('Discard').click()
    assert.equal(await field.inputValue(), '240')
  })

  test('unsaved changes hold whoever leaves, until they are given up', async () => {
    await page.getByLabel('Memory').check()
    await page.getByRole('link', { name: 'Secrets' }).click()
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.ok(await page.getByLabel('Memory').isChecked())
    await page.getByRole('link', { name: 'Secrets' }).click()
    await dialog.getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { name: 'Secrets' }).waitFor()
    const { agent_settings } = await server.client.getSettings()
    assert.equal(agent_settings.agent_context?.load_memory, false)
  })

  test('a secret is added by keyboard alone, described anew without its value, and deleted', async () => {
    await button('Add a secret').focus()
    await page.keyboard.press('Enter')
    await until('the first field has the focus', () =>
      page.evaluate(() => (document.activeElement as HTMLInputElement).required),
    )
    await page.keyboard.type('NPM_TOKEN')
    await page.keyboard.press('Tab')
    await page.keyboard.type('npm-v4lue')
    await page.keyboard.press('Tab')
    await page.keyboard.type('To publish')
    await page.keyboard.press('Enter')
    await told('Added')
    assert.equal(await (await value('NPM_TOKEN')).text(), 'npm-v4lue')

    await button('Change NPM_TOKEN').click()
    await page.getByLabel('Description').fill('To publish packages')
    await button('Save').click()
    await told('Changed')
    assert.equal(await (await value('NPM_TOKEN')).text(), 'npm-v4lue')
    const { secrets } = await server.client.listSecrets()
    assert.deepEqual(secrets, [{ name: 'NPM_TOKEN', description: 'To publish packages' }])
    await isNowhere('npm-v4lue')

    await button('Delete NPM_TOKEN').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No secrets yet').waitFor()
    assert.deepEqual((await server.client.listSecrets()).secrets, [])
  })
  const value = (name: string) => server.client.getSecretValue({ params: { name } })

  test('an MCP server is tested before and after it is stored, with headers that nobody reads again', async () => {
    await visit('mcp')
    await page.getByRole('link', { name: 'Add a server' }).click()
    await page.getByLabel('Name', { exact: true }).fill('good')
    await page.getByLabel('Address').fill(mcp.url)
    await button('Add to headers').click()
    await page.getByLabel('Name 1 of Headers').fill('Authorization')
    await page.getByLabel('Value 1 of Headers').fill(HEADER)
    await button('Test').click()
    await page.getByText('It works: 4 tools').waitFor()
    await page.getByText('shout').waitFor()
    await button('Save').click()
    await told('Saved')

    heard.length = 0
    await button('Test good').click()
    await page.getByText('It works: 4 tools').waitFor()
    assert.ok(heard.includes(HEADER))
    await isNowhere(HEADER)

    await page.getByRole('checkbox', { name: 'On' }).click()
    await until('it is off', async () => {
      const { agent_settings } = await server.client.getSettings()
      return agent_settings.mcp_config.good?.enabled === false
    })
    await page.getByRole('link', { name: 'Edit good' }).click()
    await button('Remove Authorization').click()
    await page.getByLabel('Address').fill(`${mcp.origin}/nowhere?`)
    await button('Save').click()
    await told('Saved')
    const { agent_settings } = await server.client.getSettings()
    assert.deepEqual(Object.keys(agent_settings.mcp_config.good?.headers ?? {}), [])
    assert.equal(agent_settings.mcp_config.good?.enabled, false)
    await mcp.down()
    await button('Test good').click()
    await page.getByText('It does not work').waitFor()
  })

  test('a login at an MCP server is done in the browser, and kept', async () => {
    await using guarded = await Authorizing.start()
    await visit('mcp?add=1')
    await page.getByLabel('Name', { exact: true }).fill('guarded')
    await page.getByLabel('Address').fill(guarded.listener.url)
    await page.getByLabel('Log in with the browser').check()
    await button('Save').click()
    await told('Saved')
    const opened = page.waitForEvent('popup')
    await button('Log in at guarded').click()
    const popup = await opened
    await popup.waitForLoadState()
    await popup.close()
    await told('Logged in at guarded')
    await button('Test guarded').click()
    await page.getByText('It works: 4 tools').waitFor()
    assert.equal(guarded.tokens.size, 1)
    for (const token of guarded.tokens) await isNowhere(token)
  })

  test('a git token is tried before it is kept, and each can be removed without the others', async () => {
    await using github = await FakeProvider.start('github')
    await server.client.storeProviderTokens({ body: { provider_tokens: { azure_devops: { token: 'other' } } } })
    await visit('git')
    await button('Add a token of GitHub').click()
    const form = page.getByRole('form', { name: 'Token of GitHub' })
    await page.getByLabel('Host').fill(github.url)
    await page.getByLabel('Token', { exact: true }).fill('wrong-t0ken')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Invalid token').waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.getByLabel('Token', { exact: true }).fill(TOKEN)
    await form.getByRole('button', { name: 'Save' }).click()
    await told('Saved')
    await page.getByText('The token works').waitFor()
    assert.deepEqual(Object.keys((await server.client.getSettings()).provider_tokens_set).sort(), [
      'azure_devops',
      'github',
    ])
    await isNowhere(TOKEN)
    await button('Remove the token of GitHub').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await told('Removed')
    assert.deepEqual(Object.keys((await server.client.getSettings()).provider_tokens_set), ['azure_devops'])
  })

  test('a skill is installed from a folder, switched off, and removed', async () => {
    const text = '---\nname: tidy\ndescription: Tidies up\n---\nTidy up.'
    const folder = await sh(server, `${writing({ 'SKILL.md': text }, 'tidy')}\ncd tidy; pwd`)
    await visit('skills')
    await button('Install a skill').click()
    await page.getByLabel('Source').fill(folder)
    await button('Install').click()
    await told('Installed')
    await page.getByText('Tidies up').waitFor()
    await page.getByRole('checkbox', { name: 'On' }).click()
    await told('tidy is off')
    assert.equal((await server.client.listInstalledSkills()).skills[0]?.enabled, false)
    await button('Refresh tidy').click()
    await told('tidy is as it is at its source now')
    await button('Remove tidy').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No skills installed').waitFor()
  })

  test('an approval can be withdrawn', async () => {
    await server.client.approve({ params: { sha256: 'a'.repeat(64) }, body: { what: '.openhands/setup.sh' } })
    await visit('approvals')
    await button('Withdraw the approval of .openhands/setup.sh').click()
    await page.getByText('Nothing is approved').waitFor()
  })

  test('the rule for asking is one choice, with who judges the risk', async () => {
    await visit('confirmation')
    await page.getByLabel('Before risky actions').check()
    await page.getByLabel('Fixed rules').check()
    await button('Save').click()
    await told('Saved')
    const risky = await server.client.getSettings()
    assert.deepEqual([risky.confirmation_mode, risky.security_analyzer], [true, 'policy_rail'])
    await page.getByLabel('Before every action').check()
    await button('Save').click()
    await told('Saved')
    const always = await server.client.getSettings()
    assert.deepEqual([always.confirmation_mode, always.security_analyzer], [true, 'none'])
  })

  test('the theme is kept in this browser', async () => {
    await visit('appearance')
    await page.getByLabel('Dark', { exact: true }).check()
    await page.reload()
    await drawn(page)
    assert.ok(await page.getByLabel('Dark', { exact: true }).isChecked())
    const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
    assert.equal(await scheme(), 'dark')
    await page.getByLabel('As the system').check()
    assert.equal(await scheme(), 'light dark')
  })

  test('every section can be used by everybody, light and dark, and fits a phone', async () => {
    const found: string[] = []
    for (const place of PLACES) {
      await page.setViewportSize(PHONE.viewport!)
      await visit(place)
      const isWide = await page.evaluate(() => document.getElementById('main')!.scrollWidth > window.innerWidth)
      assert.ok(!isWide, `${place} is wider than a phone`)
      await page.setViewportSize(LAPTOP.viewport!)
      for (const colorScheme of looks('light' as const, 'dark' as const)) {
        await page.emulateMedia({ colorScheme })
        found.push(...(await violations(page)).map(line => `${place} ${colorScheme}: ${line}`))
      }
    }
    assert.deepEqual(found, [])

    await page.setViewportSize(PHONE.viewport!)
    await page.getByLabel('Section').selectOption('agent')
    await page.getByRole('heading', { name: 'Agent' }).waitFor()
    assert.deepEqual(await violations(page), [])
    await page.setViewportSize(LAPTOP.viewport!)
  })

  test('the page complained of nothing', () => {
    // The browser itself tells of answers that are no success: the refusals above.
    assert.deepEqual(
      open.complaints.filter(line => !/status of (?:401|422)/.test(line)),
      [],
    )
  })
})
