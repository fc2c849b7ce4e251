// The SQL of queries/, embedded by tools/embed_sql. @name stands for a value to be filled in.
#pragma once

#include <string_view>

namespace walpost::slots {

extern const std::string_view kConsumerSql;
extern const std::string_view kOriginsSql;
extern const std::string_view kPreparedSql;
extern const std::string_view kPublicationSql;
extern const std::string_view kServerSql;
extern const std::string_view kSettingsSql;
extern const std::string_view kSlotsSql;
extern const std::string_view kStandbysSql;
extern const std::string_view kTransactionsSql;

}  // namespace walpost::slots
