import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { IDENTITY } from '../support/git.ts'
import { call, finish, ModelServer, say, type Turn } from '../support/model-server.ts'
import { type OpenPage, openPage, PHONE, picture, violations } from '../support/page.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'
import { inside, started } from '../support/starts.ts'
import { until } from '../support/wait.ts'

const CODE = 'export const one = 1\nexport const two = 2\n'
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>'
/** A name may hold anything but a slash: the newline is part of it. */
const FILES = `mkdir -p src/deep 'odd $(name)' && printf '${CODE}' > src/main.ts && ln -s src linked && ln -s nowhere dangling
printf '# Notes\\n' > notes.md && seq 1 150000 > large.txt && head -c 4000 /dev/zero > blob.bin && : > empty.txt
printf '${SVG}' > picture.svg && printf x > 'two
lines.txt'`

describe('the page: the workspace', { skip: NO_BROWSER }, () => {
  let model: ModelServer
  let server: TestServer
  let browser: Browser
  let opened: OpenPage
  let id: string
  let sandbox: string
  let root: string
  let turns: Turn[] = []

  before(async () => {
    model = await ModelServer.start(({ body }) => (body.tools?.length ? turns.shift()! : say('A title')))
    server = await TestServer.start()
    const params = { name: 'scripted' }
    await server.client.saveProfile({ params, body: { llm: model.llm(), include_secrets: true } })
    await server.client.activateProfile({ params })
    const conversation = await started(server, { title: 'Workspace' })
    id = conversation.id
    sandbox = conversation.sandbox_id
    root = (await server.client.getConversation({ params: { conversation_id: id } })).workspace.working_dir
    await sh(FILES)
    browser = await startBrowser()
    opened = await openPage(browser, server, `/c/${id}/files`)
    opened.page.setDefaultTimeout(10_000)
  })
  after(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    await model?.close()
  })

  const sh = (command: string) => inside(server, sandbox, `${IDENTITY}; cd ${root} && ${command}`)
  const button = (name: string | RegExp) => opened.page.getByRole('button', { name, exact: true })
  const item = (name: string): Locator => opened.page.getByRole('treeitem').filter({ hasText: name })
  const tab = (name: string) => opened.page.getByRole('tab', { name }).click()
  const close = () => button('Close the file').click()
  const isFocused = (one: Locator) => until('it has the focus', () => one.evaluate(el => el === document.activeElement))
  const clean = async () => assert.deepEqual(await violations(opened.page), [])

  /** The browser itself complains of an answer that is no success. */
  const refused = (status: number) => {
    const [complaint, ...others] = opened.complaints.splice(0)
    assert.match(complaint ?? '', new RegExp(`status of ${status} `))
    assert.deepEqual(others, [])
  }

  test('the tree is walked, opened and read by keys alone', async () => {
    const { page } = opened
    await item('odd $(name)').focus()
    await page.keyboard.press('s')
    await isFocused(item('src'))
    await page.keyboard.press('ArrowRight')
    await item('main.ts').waitFor()
    assert.equal(await item('src').first().getAttribute('aria-expanded'), 'true')
    await page.keyboard.press('m')
    await isFocused(item('main.ts'))
    assert.equal(await item('main.ts').getAttribute('aria-level'), '2')
    await page.keyboard.press('Enter')
    const shown = page.getByRole('region', { name: 'Content of main.ts' })
    await shown.locator('.hljs-keyword').first().waitFor()
    assert.equal(await shown.locator('code').innerText(), CODE)
    await clean()
    await picture(page, 'workspace-file')
    await close()
    await isFocused(item('main.ts'))
    await page.keyboard.press('ArrowLeft')
    await isFocused(item('src').first())
    await page.keyboard.press('ArrowLeft')
    await item('main.ts').waitFor({ state: 'detached' })
    await item('two lines.txt').waitFor()
    await item('linked').click()
    await item('main.ts').waitFor()
    await item('linked').click()
  })

  test('pictures are shown, large texts are cut, and what is no text can be downloaded', async () => {
    const { page } = opened
    await item('picture.svg').click()
    const image = page.getByRole('img', { name: 'picture.svg' })
    await until('it is drawn', () => image.evaluate(one => (one as HTMLImageElement).naturalWidth === 40))
    await close()
    await item('large.txt').click()
    await page.getByText(/Only its beginning is shown/).waitFor()
    await close()
    await item('notes.md').click()
    await button('Rendered').click()
    await page.getByRole('heading', { name: 'Notes', exact: true }).waitFor()
    await close()
    await item('empty.txt').click()
    await page.getByText('The file is empty.').waitFor()
    await close()
    await item('dangling').click()
    await page.getByRole('alert').waitFor()
    refused(404)
    await close()
    await item('blob.bin').click()
    await page.getByText('This file is not text.').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download blob.bin' }).click(),
    ])
    assert.equal((await readFile(await download.path())).length, 4000)
    await close()
  })

  test('the folder is downloaded as one file', async () => {
    const { page } = opened
    await button('Downloads').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: /\.tar\.gz$/ }).click(),
    ])
    assert.match(download.suggestedFilename(), /\.tar\.gz$/)
    assert.deepEqual([...(await readFile(await download.path())).subarray(0, 2)], [0x1f, 0x8b])
  })

  test('files arrive by the button and by a drop, and it says where', async () => {
    const { page } = opened
    await item('src').first().click()
    await item('deep').waitFor()
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button('Upload to src').click()])
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`this is ${name}`) })
    await chooser.setFiles([file('chosen one.txt'), file('other.txt')])
    await page.getByText('2 files are now in src.').waitFor()
    await item('chosen one.txt').waitFor()
    assert.equal(await sh("cat 'src/chosen one.txt'"), 'this is chosen one.txt')

    const carried = await page.evaluateHandle(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(['dropped here'], 'dropped.txt'))
      return transfer
    })
    await item('odd $(name)').dispatchEvent('dragover', { dataTransfer: carried })
    await page.getByText('Drop files to upload them').waitFor()
    await item('odd $(name)').dispatchEvent('drop', { dataTransfer: carried })
    await page.getByText('1 file is now in odd $(name).').waitFor()
    assert.equal(await sh("cat 'odd $(name)/dropped.txt'"), 'dropped here')

    await tab('Ports')
    await page.getByRole('region', { name: 'Workspace' }).dispatchEvent('drop', { dataTransfer: carried })
    await page.getByText('1 file is now in src.').waitFor()
    assert.equal(await sh('cat src/dropped.txt'), 'dropped here')
    await tab('Files')
  })

  test('what is there is replaced only after a yes, and what cannot be says why', async () => {
    const { page } = opened
    const drop = async (name: string) => {
      const dataTransfer = await page.evaluateHandle(name => {
        const transfer = new DataTransfer()
        transfer.items.add(new File(['newer'], name))
        return transfer
      }, name)
      await page.getByRole('region', { name: 'Workspace' }).dispatchEvent('drop', { dataTransfer })
    }
    const dialog = page.getByRole('dialog', { name: 'Replace what is there?' })
    await drop('other.txt')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await sh('cat src/other.txt'), 'this is other.txt')
    await drop('other.txt')
    await dialog.getByRole('button', { name: 'Replace' }).click()
    await until('it is replaced', async () => (await sh('cat src/other.txt')) === 'newer')
    await drop('deep')
    await dialog.getByRole('button', { name: 'Replace' }).click()
    const failed = page.getByRole('list', { name: 'Uploads' })
    await failed.getByRole('alert').waitFor()
    await failed.getByRole('button', { name: 'Dismiss' }).click()
    await failed.waitFor({ state: 'detached' })
    refused(400)
  })

  test('what a run wrote is there when it comes to rest', async () => {
    turns = [call('terminal', { command: 'echo fresh > written-by-the-agent.txt' }), finish('Written.')]
    await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage('Write', true) })
    await item('written-by-the-agent.txt').press('Enter')
    await opened.page.getByRole('region', { name: 'Content of' }).getByText('fresh').waitFor()
    await close()
  })

  test('every change is shown with what it was before', async () => {
    const { page } = opened
    await tab('Changes')
    await page.getByText(/^\d+ files: \d+ added$/).waitFor()
    await sh(`git add -A && git commit -qm first`)
    await button('Refresh').click()
    await page.getByText('Nothing has changed since the last commit.').waitFor()
    await sh(
      "printf 'export const one = 11\\nexport const two = 2\\nmore()\\n' > src/main.ts && rm empty.txt && echo new > new.txt",
    )
    await button('Refresh').click()
    await page.getByText('3 files: 1 added, 1 changed, 1 deleted').waitFor()
    const change = page.getByRole('region', { name: 'src/main.ts' })
    await change.getByRole('table').waitFor()
    assert.match(await change.innerText(), /\+2 −1/)
    assert.match(await change.getByRole('table').innerText(), /one = 1\b[\s\S]*one = 11[\s\S]*more\(\)/)
    await clean()
    await picture(page, 'workspace-changes')
    await page.getByRole('combobox', { name: 'Compared with' }).selectOption('All work')
    await page.getByText(/^\d+ files: \d+ added$/).waitFor()
  })

  test('a shell in the sandbox answers, in its colours, at the size of the pane, and is still there later', async () => {
    const { page } = opened
    await tab('Terminal')
    const rows = page.locator('.xterm-rows')
    const type = async (line: string) => {
      await page.getByRole('textbox', { name: 'Terminal input' }).focus()
      await page.keyboard.type(`${line}\n`)
    }
    await rows.getByText('$').first().waitFor()
    await type("printf 'at-%s \\033[38;2;0;90;0mcoloured\\033[0m \\033[31mred\\033[0m\\n' $PWD")
    await rows.getByText(`at-${root}`).first().waitFor()
    const colourOf = (text: string) =>
      rows
        .getByText(text, { exact: true })
        .last()
        .evaluate(one => getComputedStyle(one).color)
    assert.equal(await colourOf('coloured'), 'rgb(0, 90, 0)')
    assert.equal(await colourOf('red'), 'rgb(179, 38, 30)')
    await clean()
    await picture(page, 'workspace-terminal')
    const columns = async () => {
      await type('clear; echo "<$(stty size)>"')
      return until('the size is told', async () => /<\d+ (\d+)>/.exec(await rows.innerText())?.[1]).then(Number)
    }
    const narrow = await columns()
    await page.setViewportSize({ width: 1700, height: 800 })
    await until('it has grown', async () => (await columns()) > narrow)
    await page.setViewportSize({ width: 1280, height: 800 })
    await type('clear; kept=still-here')
    await tab('Files')
    await tab('Terminal')
    await type('echo $kept')
    await rows.getByText('still-here').last().waitFor()
    await type('exit 3')
    await page.getByText('The shell ended with 3.').waitFor()
    await button('Open a new one').click()
    await rows.getByText('$').first().waitFor()
    await page.getByText('The shell ended with 3.').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    assert.equal(
      await page.getByRole('textbox', { name: 'Terminal input' }).evaluate(one => one === document.activeElement),
      false,
    )
  })

  test('what listens is listed with its program, and opens in a tab of its own', async () => {
    const { page } = opened
    await tab('Ports')
    await page.getByText('Nothing listens in the sandbox.').waitFor()
    await sh('mkdir -p site && echo a-page-of-the-agent > site/index.html')
    await sh('cd site && (setsid python3 -m http.server 3456 >/dev/null 2>&1 &)')
    await until('it listens', async () => {
      await button('Refresh').click()
      return page.getByText('1 port listens').isVisible()
    })
    await page.getByRole('listitem').filter({ hasText: '3456' }).getByText('python3').waitFor()
    await clean()
    const [site] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Open port 3456' }).click(),
    ])
    await site.getByText('a-page-of-the-agent').waitFor()
    assert.notEqual(new URL(site.url()).host, new URL(page.url()).host)
    await site.close()
    await page.getByRole('spinbutton', { name: 'Another port' }).fill('4567')
    await button('Get its address').click()
    const link = page.getByRole('link', { name: 'Open port 4567' })
    assert.match((await link.getAttribute('href')) ?? '', /^http:\/\/4567-/)
  })

  test('an address is copied even where a page is given no clipboard, as over plain http from elsewhere', async () => {
    const { page } = opened
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const clipboard = await page.evaluateHandle(() => navigator.clipboard)
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }))
    const copy = button('Copy the address of port 4567')
    await copy.click()
    await page.getByText('The address is copied.').waitFor()
    const href = await page.getByRole('link', { name: 'Open port 4567' }).getAttribute('href')
    assert.equal(await clipboard.evaluate(one => one.readText()), href)
    await isFocused(copy)
    await page.evaluate(() => {
      document.execCommand = () => false
    })
    await copy.click()
    await page.getByText('This browser copies nothing here. Select the text and copy it.').waitFor()
  })

  test('looking at files and ports runs no command in the sandbox', async () => {
    const { page, requested } = opened
    const before = requested.length
    const asked = (path: RegExp) => requested.slice(before).filter(url => path.test(url))
    await tab('Files')
    await until('the files are read', () => asked(/\/api\/file\/list\?/).length > 0)
    await tab('Ports')
    await page.getByText('1 port listens').waitFor()
    await until('the ports are read', () => asked(/\/ports$/).length > 0)
    assert.deepEqual(asked(/\/api\/bash\//), [])
  })

  test('what acts in the sandbox asks for the key, too, when it is wanted', async () => {
    const { page } = opened
    await tab('Files')
    await page.route('**/sandboxes/*/api/file/list?*', route => route.fulfill({ status: 401, body: '{}' }), {
      times: 1,
    })
    await button('Refresh').click()
    await page.getByLabel('Session key').fill(server.key)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await item('written-by-the-agent.txt').waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    refused(401)
  })

  test('on a phone in the dark each tab fits, and nothing is out of reach', async () => {
    const phone = await openPage(browser, server, `/c/${id}/files`, { ...PHONE, colorScheme: 'dark' })
    const { page } = phone
    for (const name of ['Files', 'Changes', 'Terminal', 'Ports']) {
      await page.getByRole('tab', { name }).click()
      const shown = { Files: '.tree', Changes: '.changed', Terminal: '.xterm-rows', Ports: '.ports-row' }[name]!
      await page.locator(shown).first().waitFor()
      assert.deepEqual(await violations(page), [], name)
      const spill = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.equal(spill, 0, `${name} is wider than the screen`)
    }
    await page.getByRole('tab', { name: 'Terminal' }).click()
    for (const key of ['Esc', 'Tab', 'Ctrl+C']) await page.getByRole('button', { name: key, exact: true }).waitFor()
    assert.deepEqual(phone.complaints, [])
    await phone.close()
  })

  test('a sandbox that never ran is started when somebody asks for it, not by looking', async () => {
    const { id: quiet } = await server.client.startConversation({
      body: anOrder({ workspace: { working_dir: '/workspace/not-yet' } }),
    })
    const { page } = opened
    await page.goto(`${server.url}/#/c/${quiet}/files`)
    await page.getByText('The sandbox of this conversation is not running.').waitFor()
    assert.deepEqual(await server.client.batchSandboxes({ query: { id: ['default'] } }), [null])
    await clean()
    await button('Start it').click()
    await page.getByText('does not exist yet').waitFor()
    await tab('Changes')
    await page.getByText('The working directory is not a git repository.').waitFor()
  })

  test('nothing was complained of', () => assert.deepEqual(opened.complaints, []))
})
