import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { Empty } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { LeaveGuard } from './leaving.tsx'
import { SECTION_TITLE } from './save-form.tsx'
import { SECTIONS } from './sections.tsx'

/** One section of the settings, and the way to the others: a list at the side, on a phone a choice on top. */
export function SettingsView({ section }: { section: string }) {
  const here = SECTIONS.find(({ key }) => key === section)
  return (
    <div class="settings">
      <header class="settings-head">
        <a class="back" href={hrefTo([])}>
          <Icon name="back" />
          {t('Conversations')}
        </a>
        <h1>{t('Settings')}</h1>
        <SectionChoice section={section} />
      </header>
      <nav class="settings-nav" aria-label={t('Settings')}>
        <ul>
          {SECTIONS.map(({ key, label }) => (
            <li key={key}>
              <a href={hrefTo(['settings', key])} aria-current={key === section ? 'page' : undefined}>
                {t(label)}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <LeaveGuard key={section}>
        <section class="settings-body" aria-labelledby={SECTION_TITLE}>
          {here ? (
            <>
              <div class="settings-lead">
                <h2 id={SECTION_TITLE} tabIndex={-1}>
                  {t(here.label)}
                </h2>
                <p class="quiet">{t(here.lead)}</p>
              </div>
              <here.View />
            </>
          ) : (
            <Empty icon="search" title={t('There is no such section.')}>
              <a href={hrefTo(['settings'])}>{t('To the models')}</a>
            </Empty>
          )}
        </section>
      </LeaveGuard>
    </div>
  )
}

function SectionChoice({ section }: { section: string }) {
  const { go } = useApp()
  return (
    <div class="settings-choice">
      <select
        aria-label={t('Section')}
        value={section}
        onChange={event => {
          const to = event.currentTarget.value
          // It shows where the page is, and unsaved changes may keep it there.
          event.currentTarget.value = section
          go(['settings', to])
        }}
      >
        {SECTIONS.map(({ key, label }) => (
          <option key={key} value={key}>
            {t(label)}
          </option>
        ))}
      </select>
    </div>
  )
}
